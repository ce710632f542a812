//! How the server is, for those who watch over it.

use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use weir_host::{Histogram, HostMetrics, Space, Usage};
use weir_process::ProcessId;

use super::answer;
use super::types::Health;
use crate::metrics::Exposition;
use crate::problem::{Problem, STORE_UNUSABLE};
use crate::state::{App, Phase};

/// Whether the server lives.
#[utoipa::path(get, path = "/healthz", tag = "health", security(()),
    responses((status = 200, description = "It does.", body = Health)))]
pub(crate) async fn healthz() -> Response {
    answer::json(StatusCode::OK, &Health { status: "ok", detail: None, reasons: Vec::new() })
}

/// Whether the server takes new work.
#[utoipa::path(get, path = "/readyz", tag = "health", security(()), responses(
    (status = 200, description = "It does.", body = Health),
    (status = 503, description = "It is about to end, or its disk is full or fails.", body = Health),
))]
pub(crate) async fn readyz(State(app): State<App>) -> Response {
    // Anyone may ask, so what takes time is looked at only where there is something to tell.
    let is_crowded = app.host().waiting_for_process() > 0;
    let reasons = is_crowded.then(|| crowding(&app.host().metrics())).into_iter().collect();
    let told = |code, status, detail| answer::json(code, &Health { status, detail, reasons });
    if app.phase() != Phase::Serving {
        return told(StatusCode::SERVICE_UNAVAILABLE, "stopping", None);
    }
    // Anyone may ask, so it does not say where the disk is.
    match app.host().space() {
        Space::Full { .. } => {
            let detail = Problem::disk_full().detail().to_owned();
            told(StatusCode::SERVICE_UNAVAILABLE, "disk_full", Some(detail))
        }
        Space::Unusable { .. } => {
            told(StatusCode::SERVICE_UNAVAILABLE, "store_unusable", Some(STORE_UNUSABLE.to_owned()))
        }
        Space::Enough => told(StatusCode::OK, "ok", None),
    }
}

/// Why sessions wait for a process.
fn crowding(host: &HostMetrics) -> String {
    let HostMetrics { waiting_for_process, awaiting_person, max_awaiting_person, most_processes, .. } = host;
    format!(
        "{waiting_for_process} sessions wait for a process: {most_processes} may work at a time, and \
         {awaiting_person} wait for an answer from a person (up to {max_awaiting_person} of those do not count)"
    )
}

/// Numbers for Prometheus.
#[utoipa::path(get, path = "/metrics", tag = "health",
    responses((status = 200, description = "The numbers.", body = String, content_type = "text/plain")))]
pub(crate) async fn metrics(State(app): State<App>) -> Response {
    let mut text = Exposition::default();
    write_host(&mut text, &app.host().metrics());
    if let Ok(usage) = app.host().usage().await {
        write_usage(&mut text, usage);
    }
    app.metrics().write(&mut text);
    text.gauge("weir_sse_clients", "Streams that are open.", app.streams().count());
    if let Some(bytes) = ProcessId::of(std::process::id()).and_then(ProcessId::resident_memory) {
        text.gauge("process_resident_memory_bytes", "Memory that the server takes.", bytes);
    }
    text.about("weir_build_info", "gauge", "The version.");
    text.sample("weir_build_info", &[("version", env!("CARGO_PKG_VERSION"))], 1);
    let kind = "text/plain; version=0.0.4; charset=utf-8";
    ([(header::CONTENT_TYPE, kind)], text.finish()).into_response()
}

fn write_host(text: &mut Exposition, host: &HostMetrics) {
    text.about("weir_sessions", "gauge", "Sessions in memory, by what they do.");
    for (status, count) in &host.sessions {
        text.sample("weir_sessions", &[("status", status.as_str())], count);
    }
    text.gauge("weir_pool_processes", "Processes of the CLI that run.", host.processes);
    text.gauge("weir_pool_processes_max", "Most processes at a time.", host.most_processes);
    text.gauge("weir_pool_spares", "Processes that wait for new sessions.", host.spare_processes);
    text.gauge("weir_pool_waiting", "Sessions that wait for a process.", host.waiting_for_process);
    let help = "Sessions that have a process and wait for an answer from a person.";
    text.gauge("weir_pool_awaiting_person", help, host.awaiting_person);
    let help = "Most of them that do not count as processes.";
    text.gauge("weir_pool_awaiting_person_max", help, host.max_awaiting_person);
    let help = "Sessions that were denied what they asked because others needed their process.";
    text.counter("weir_pool_crowded_out_total", help, host.crowded_out);
    text.counter("weir_events_total", "Events that were put into logs.", host.events);
    text.counter("weir_event_bytes_total", "Their bytes.", host.event_bytes);
    text.counter("weir_previews_total", "Pieces of text that were shown and not logged.", host.previews);
    text.counter("weir_unknown_lines_total", "Lines of a type that is not known.", host.unknown_lines);
    text.counter("weir_malformed_lines_total", "Lines that are not as they should be.", host.malformed_lines);
    text.counter("weir_messages_total", "Messages that were accepted.", host.messages);
    text.about("weir_turns_total", "counter", "Turns that ended, by how.");
    text.sample("weir_turns_total", &[("outcome", "succeeded")], host.turns_succeeded);
    text.sample("weir_turns_total", &[("outcome", "failed")], host.turns_failed);
    text.counter("weir_cost_usd_total", "What turns cost, by the CLI's estimate.", host.cost_usd);
    histogram(text, "weir_turn_seconds", "How long turns took.", &host.turn_seconds);
    histogram(text, "weir_first_text_seconds", "How long the first text took.", &host.first_text_seconds);
    histogram(text, "weir_append_seconds", "How long the log took to take events.", &host.append_seconds);
    text.gauge("weir_checkpoints_running", "Checkpoints that are being made.", host.checkpoints_running);
    text.counter("weir_checkpoints_total", "Checkpoints that were made.", host.checkpoints);
    text.gauge("weir_viewers", "Viewers of sessions.", host.viewers);
    text.gauge("weir_list_viewers", "Viewers of the list of sessions.", host.list_viewers);
}

fn write_usage(text: &mut Exposition, usage: Usage) {
    text.gauge("weir_store_used_bytes", "What the log takes.", usage.used);
    text.gauge("weir_store_free_bytes", "What is free inside its file.", usage.free);
    text.gauge("weir_store_wal_bytes", "What waits to be moved into the file.", usage.wal);
    text.gauge("weir_store_reserve_bytes", "What is kept for a full disk.", usage.reserve);
    if let Some(available) = usage.available {
        text.gauge("weir_store_disk_available_bytes", "What the disk has left.", available);
    }
}

fn histogram(text: &mut Exposition, name: &str, help: &str, values: &Histogram) {
    let finite: Vec<(f64, u64)> =
        values.buckets.iter().copied().filter(|(bound, _)| bound.is_finite()).collect();
    text.histogram(name, help, &finite, values.count, values.sum);
}
