//! Where logs go: to standard error, as lines for people or as JSON for programs, and with the feature `otlp` to a
//! collector.
//!
//! Nothing secret is logged: no token, no header, no query, no text of a conversation.

use std::io::IsTerminal as _;

use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{EnvFilter, Layer as _};

/// What logs look like.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LogFormat {
    /// Lines for people.
    #[default]
    Text,
    /// One JSON object a line.
    Json,
}

/// What is logged, and where to.
#[derive(Debug, Clone, Default)]
pub struct Telemetry {
    /// What logs look like.
    pub format: LogFormat,
    /// What is logged, such as `info` or `weir_server=debug`.
    pub filter: String,
    /// The collector that spans are sent to, such as `http://127.0.0.1:4318/v1/traces`.
    pub otlp: Option<String>,
}

/// Why there are no logs.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TelemetryError {
    /// The filter cannot be understood.
    #[error("`{filter}` is no filter for the log: {reason}; use error, warn, info, debug or trace")]
    Filter {
        /// The filter.
        filter: String,
        /// Why not.
        reason: String,
    },
    /// Spans cannot be sent.
    #[error("spans cannot be sent: {0}")]
    Otlp(String),
    /// There are logs already.
    #[error("logs are written already")]
    Twice,
}

/// Begins to log. The value must be kept: spans that were not sent yet are sent when it is dropped.
///
/// # Errors
/// If the settings cannot be used.
pub fn start_telemetry(settings: &Telemetry) -> Result<impl Drop + use<>, TelemetryError> {
    let filter = EnvFilter::try_new(&settings.filter).map_err(|error| TelemetryError::Filter {
        filter: settings.filter.clone(),
        reason: error.to_string(),
    })?;
    let has_colours = std::io::stderr().is_terminal();
    let lines = tracing_subscriber::fmt::layer().with_writer(std::io::stderr).with_ansi(has_colours);
    let lines = match settings.format {
        LogFormat::Text => lines.with_target(false).boxed(),
        LogFormat::Json => lines.json().flatten_event(true).boxed(),
    };
    let (spans, guard) = otlp::layer(settings.otlp.as_deref())?;
    tracing_subscriber::registry()
        .with(filter)
        .with(lines)
        .with(spans)
        .try_init()
        .map_err(|_| TelemetryError::Twice)?;
    Ok(guard)
}

#[cfg(not(feature = "otlp"))]
mod otlp {
    //! Without the feature nothing is sent.

    use tracing_subscriber::layer::Identity;

    use super::TelemetryError;

    /// Nothing to do at the end.
    pub(super) struct Guard;

    impl Drop for Guard {
        fn drop(&mut self) {}
    }

    pub(super) fn layer(endpoint: Option<&str>) -> Result<(Identity, Guard), TelemetryError> {
        match endpoint {
            None => Ok((Identity::new(), Guard)),
            Some(_) => Err(TelemetryError::Otlp(
                "this program was built without the feature `otlp`; \
                    `cargo build -p weir-cli --features otlp` builds one with it"
                    .to_owned(),
            )),
        }
    }
}

#[cfg(feature = "otlp")]
mod otlp {
    //! Spans for a collector.

    use opentelemetry::trace::TracerProvider as _;
    use opentelemetry_otlp::{SpanExporter, WithExportConfig as _};
    use opentelemetry_sdk::Resource;
    use opentelemetry_sdk::trace::SdkTracerProvider;
    use tracing::Subscriber;
    use tracing_subscriber::Layer;
    use tracing_subscriber::registry::LookupSpan;

    use super::TelemetryError;

    /// Sends the last spans.
    pub(super) struct Guard(Option<SdkTracerProvider>);

    impl Drop for Guard {
        fn drop(&mut self) {
            if let Some(provider) = self.0.take() {
                // At the end of the program there is nobody to tell.
                let _ = provider.shutdown();
            }
        }
    }

    pub(super) fn layer<S>(
        endpoint: Option<&str>,
    ) -> Result<(Option<impl Layer<S> + use<S>>, Guard), TelemetryError>
    where
        S: Subscriber + for<'span> LookupSpan<'span>,
    {
        let Some(endpoint) = endpoint else { return Ok((None, Guard(None))) };
        // The exporter's HTTP client wants one to be chosen. Whoever was first has chosen, which is as good.
        let _ = tokio_rustls::rustls::crypto::ring::default_provider().install_default();
        let exporter = SpanExporter::builder()
            .with_http()
            .with_endpoint(endpoint)
            .build()
            .map_err(|error| TelemetryError::Otlp(error.to_string()))?;
        let provider = SdkTracerProvider::builder()
            .with_resource(Resource::builder().with_service_name("weir").build())
            .with_batch_exporter(exporter)
            .build();
        let layer = tracing_opentelemetry::layer().with_tracer(provider.tracer("weir"));
        Ok((Some(layer), Guard(Some(provider))))
    }
}
