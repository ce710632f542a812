//! Shared by the tests.

use weir_testkit::real::RealCli;

/// The real CLIs to test with. Panics with instructions if one is missing.
pub(crate) fn real_clis() -> Vec<RealCli> {
    RealCli::required().unwrap_or_else(|error| panic!("{error}"))
}
