//! The text of `weir --version`.

use std::sync::LazyLock;

/// Optional build features, and whether this program has them.
const FEATURES: [(&str, bool); 3] = [
    ("acp-v2", cfg!(feature = "acp-v2")),
    ("matrix", cfg!(feature = "matrix")),
    ("otlp", cfg!(feature = "otlp")),
];

/// The version, the commit, and the features that this program was built with.
pub(crate) fn long() -> &'static str {
    static TEXT: LazyLock<String> = LazyLock::new(|| {
        let with: Vec<&str> =
            FEATURES.iter().filter(|(_, is_enabled)| *is_enabled).map(|(name, _)| *name).collect();
        let features = if with.is_empty() { "none".to_owned() } else { with.join(", ") };
        format!(
            "{}\ncommit:   {}\nfeatures: {features}\ntarget:   {}",
            env!("CARGO_PKG_VERSION"),
            env!("WEIR_BUILD_COMMIT"),
            env!("WEIR_BUILD_TARGET")
        )
    });
    &TEXT
}
