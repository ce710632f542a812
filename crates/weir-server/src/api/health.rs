//! Health and metrics, for monitoring.

use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use weir_host::{CliReport, Histogram, HostMetrics, Space, Usage};
use weir_process::ProcessId;

use super::answer::{self, Answer};
use super::types::Health;
use crate::metrics::Exposition;
use crate::problem::{Problem, STORE_UNUSABLE};
use crate::state::{App, Phase};

/// Whether the server is alive.
#[utoipa::path(get, path = "/healthz", tag = "health", security(()),
    responses((status = 200, description = "It is alive.", body = Health)))]
pub(crate) async fn healthz() -> Response {
    answer::json(StatusCode::OK, &Health { status: "ok", detail: None, reasons: Vec::new() })
}

/// Whether the server accepts new work.
#[utoipa::path(get, path = "/readyz", tag = "health", security(()), responses(
    (status = 200, description = "It accepts new work.", body = Health),
    (status = 503, description = "It is shutting down, or its disk is full or failing.", body = Health),
))]
pub(crate) async fn readyz(State(app): State<App>) -> Response {
    // Anyone may ask, so expensive checks only run if there is something to report.
    let is_crowded = app.host().waiting_for_process() > 0;
    let reasons = is_crowded.then(|| crowding(&app.host().metrics())).into_iter().collect();
    let told = |code, status, detail| answer::json(code, &Health { status, detail, reasons });
    if app.phase() != Phase::Serving {
        return told(StatusCode::SERVICE_UNAVAILABLE, "stopping", None);
    }
    // Anyone may ask, so the disk's path is not revealed.
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
    let HostMetrics { waiting_for_process, awaiting_person, max_awaiting_person, max_processes, .. } = host;
    format!(
        "{waiting_for_process} sessions wait for a process: at most {max_processes} may run at a time, and \
         {awaiting_person} wait for an answer from a person (up to {max_awaiting_person} of those do not count)"
    )
}

/// Prometheus metrics.
#[utoipa::path(get, path = "/metrics", tag = "health",
    responses((status = 200, description = "The metrics.", body = String, content_type = "text/plain")))]
pub(crate) async fn metrics(State(app): State<App>) -> Response {
    let mut text = Exposition::default();
    write_host(&mut text, &app.host().metrics());
    if let Ok(usage) = app.host().usage().await {
        write_usage(&mut text, usage);
    }
    app.metrics().write(&mut text);
    text.gauge("weir_sse_clients", "Open streams.", app.streams().count());
    if let Some(bytes) = ProcessId::of(std::process::id()).and_then(ProcessId::resident_memory) {
        text.gauge("process_resident_memory_bytes", "Resident memory of the server.", bytes);
    }
    text.about("weir_build_info", "gauge", "Version of the server.");
    text.sample("weir_build_info", &[("version", env!("CARGO_PKG_VERSION"))], 1);
    let kind = "text/plain; version=0.0.4; charset=utf-8";
    ([(header::CONTENT_TYPE, kind)], text.finish()).into_response()
}

/// Whether the CLI is there, starts, and has a login: what is wrong can be told before a message is written.
#[utoipa::path(get, path = "/v1/cli", tag = "health",
    responses((status = 200, description = "The CLI.", body = CliReport)))]
pub(crate) async fn cli(State(app): State<App>) -> Answer<CliReport> {
    answer::ok(app.host().cli().await?)
}

fn write_host(text: &mut Exposition, host: &HostMetrics) {
    text.about("weir_sessions", "gauge", "Sessions in memory, by status.");
    for (status, count) in &host.sessions {
        text.sample("weir_sessions", &[("status", status.as_str())], count);
    }
    text.gauge("weir_pool_processes", "Running CLI processes.", host.processes);
    text.gauge("weir_pool_processes_max", "Maximum number of CLI processes.", host.max_processes);
    text.gauge("weir_pool_spares", "Spare processes that wait for new sessions.", host.spare_processes);
    text.counter(
        "weir_pool_spares_used_total",
        "New sessions that got a spare process.",
        host.sessions_from_spares,
    );
    text.gauge("weir_pool_waiting", "Sessions that wait for a process.", host.waiting_for_process);
    let help = "Sessions that hold a process and wait for a person.";
    text.gauge("weir_pool_awaiting_person", help, host.awaiting_person);
    let help = "Maximum number of them that do not count towards the process limit.";
    text.gauge("weir_pool_awaiting_person_max", help, host.max_awaiting_person);
    let help = "Sessions whose request was denied because others needed their process.";
    text.counter("weir_pool_crowded_out_total", help, host.crowded_out);
    text.counter("weir_events_total", "Events written to logs.", host.events);
    text.counter("weir_event_bytes_total", "Bytes of events written to logs.", host.event_bytes);
    text.counter("weir_previews_total", "Text previews that were shown but not logged.", host.previews);
    text.counter("weir_unknown_lines_total", "CLI lines of an unknown type.", host.unknown_lines);
    text.counter("weir_malformed_lines_total", "Malformed CLI lines.", host.malformed_lines);
    text.counter("weir_messages_total", "Accepted messages.", host.messages);
    text.about("weir_turns_total", "counter", "Ended turns, by outcome.");
    text.sample("weir_turns_total", &[("outcome", "succeeded")], host.turns_succeeded);
    text.sample("weir_turns_total", &[("outcome", "failed")], host.turns_failed);
    text.counter("weir_cost_usd_total", "Cost of turns, by the CLI's estimate.", host.cost_usd);
    histogram(text, "weir_turn_seconds", "Duration of turns.", &host.turn_seconds);
    histogram(text, "weir_first_text_seconds", "Time to the first text.", &host.first_text_seconds);
    histogram(text, "weir_append_seconds", "Time to append events to the log.", &host.append_seconds);
    text.gauge("weir_checkpoints_running", "Checkpoints being written.", host.checkpoints_running);
    text.counter("weir_checkpoints_total", "Checkpoints written.", host.checkpoints);
    text.gauge("weir_viewers", "Viewers of sessions.", host.viewers);
    text.gauge("weir_list_viewers", "Viewers of the list of sessions.", host.list_viewers);
}

fn write_usage(text: &mut Exposition, usage: Usage) {
    text.gauge("weir_store_used_bytes", "Size of the log.", usage.used);
    text.gauge("weir_store_free_bytes", "Free space inside the log's file.", usage.free);
    text.gauge("weir_store_wal_bytes", "Size of the write-ahead log.", usage.wal);
    text.gauge("weir_store_reserve_bytes", "Space reserved for a full disk.", usage.reserve);
    if let Some(available) = usage.available {
        text.gauge("weir_store_disk_available_bytes", "Free space on the disk.", available);
    }
}

fn histogram(text: &mut Exposition, name: &str, help: &str, values: &Histogram) {
    let finite: Vec<(f64, u64)> =
        values.buckets.iter().copied().filter(|(bound, _)| bound.is_finite()).collect();
    text.histogram(name, help, &finite, values.count, values.sum);
}
