//! Logging: to standard error, as lines for people or as JSON for programs, and with the feature `otlp` to a collector.
//!
//! Nothing secret is logged: no token, no header, no query, no text of a session.

use std::io::IsTerminal as _;

use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{EnvFilter, Layer as _};

/// Format of the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LogFormat {
    /// Lines for people.
    #[default]
    Text,
    /// One JSON object per line.
    Json,
}

/// What is logged, and where.
#[derive(Debug, Clone, Default)]
pub struct Telemetry {
    /// Format of the log.
    pub format: LogFormat,
    /// Filter, such as `info` or `weir_server=debug`.
    pub filter: String,
    /// The collector that spans are sent to, such as `http://127.0.0.1:4318/v1/traces`.
    pub otlp: Option<String>,
}

/// Why logging cannot start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TelemetryError {
    /// The filter is invalid.
    #[error("`{filter}` is not a valid log filter: {reason}; use error, warn, info, debug or trace")]
    Filter {
        /// The filter.
        filter: String,
        /// Why it is invalid.
        reason: String,
    },
    /// Spans cannot be sent.
    #[error("cannot send spans: {0}")]
    Otlp(String),
    /// Logging was already started.
    #[error("logging was already started")]
    Twice,
}

/// Starts logging. Keep the returned value: dropping it sends the remaining spans.
///
/// # Errors
/// If the settings are invalid.
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
    //! Sends nothing without the feature.

    use tracing_subscriber::layer::Identity;

    use super::TelemetryError;

    /// Does nothing on drop.
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

    /// Sends the remaining spans on drop.
    pub(super) struct Guard(Option<SdkTracerProvider>);

    impl Drop for Guard {
        fn drop(&mut self) {
            if let Some(provider) = self.0.take() {
                // At the end of the program there is no way to report an error.
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
        // The exporter's HTTP client needs a default provider. If one is already installed, that is fine.
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
