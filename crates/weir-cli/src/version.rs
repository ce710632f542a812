//! What `weir --version` says.

use std::sync::LazyLock;

/// Features that can be left out or added when the program is built, and whether this one has them.
const FEATURES: [(&str, bool); 2] = [("matrix", cfg!(feature = "matrix")), ("otlp", cfg!(feature = "otlp"))];

/// The version, the commit, and the features that this program was built with.
pub(crate) fn long() -> &'static str {
    static TEXT: LazyLock<String> = LazyLock::new(|| {
        let with: Vec<&str> =
            FEATURES.iter().filter(|(_, is_there)| *is_there).map(|(name, _)| *name).collect();
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
