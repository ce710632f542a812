//! The Prometheus text format. Pure.

use std::fmt::{Display, Write as _};

/// Metrics text, written sample by sample.
#[derive(Debug, Default)]
pub(crate) struct Exposition {
    text: String,
}

impl Exposition {
    /// Writes the help and type of the samples that follow.
    pub(crate) fn about(&mut self, name: &str, kind: &str, help: &str) {
        // Writing to a string cannot fail.
        let _ = writeln!(self.text, "# HELP {name} {help}\n# TYPE {name} {kind}");
    }

    /// Writes one sample.
    pub(crate) fn sample(&mut self, name: &str, labels: &[(&str, &str)], value: impl Display) {
        self.text.push_str(name);
        if !labels.is_empty() {
            let pairs: Vec<String> =
                labels.iter().map(|(label, value)| format!("{label}=\"{}\"", escaped(value))).collect();
            let _ = write!(self.text, "{{{}}}", pairs.join(","));
        }
        let _ = writeln!(self.text, " {value}");
    }

    /// Writes a gauge.
    pub(crate) fn gauge(&mut self, name: &str, help: &str, value: impl Display) {
        self.about(name, "gauge", help);
        self.sample(name, &[], value);
    }

    /// Writes a counter.
    pub(crate) fn counter(&mut self, name: &str, help: &str, value: impl Display) {
        self.about(name, "counter", help);
        self.sample(name, &[], value);
    }

    /// Writes a histogram. `buckets` holds each bound with the count of values at or below it.
    pub(crate) fn histogram(&mut self, name: &str, help: &str, buckets: &[(f64, u64)], count: u64, sum: f64) {
        self.about(name, "histogram", help);
        for (bound, below) in buckets {
            self.sample(&format!("{name}_bucket"), &[("le", &bound.to_string())], below);
        }
        self.sample(&format!("{name}_bucket"), &[("le", "+Inf")], count);
        self.sample(&format!("{name}_sum"), &[], sum);
        self.sample(&format!("{name}_count"), &[], count);
    }

    /// The finished text.
    pub(crate) fn finish(self) -> String {
        self.text
    }
}

fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_format() {
        let mut text = Exposition::default();
        text.counter("a_total", "How many.", 3);
        text.sample("b", &[("x", "say \"hi\"\n"), ("y", "2")], 0.5);
        text.histogram("c", "How long.", &[(0.1, 1), (1.0, 2)], 3, 4.5);
        let expected = "# HELP a_total How many.\n# TYPE a_total counter\na_total 3\n\
             b{x=\"say \\\"hi\\\"\\n\",y=\"2\"} 0.5\n\
             # HELP c How long.\n# TYPE c histogram\n\
             c_bucket{le=\"0.1\"} 1\nc_bucket{le=\"1\"} 2\nc_bucket{le=\"+Inf\"} 3\nc_sum 4.5\nc_count 3\n";
        assert_eq!(text.finish(), expected);
    }
}
