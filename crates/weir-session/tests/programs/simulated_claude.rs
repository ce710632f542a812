//! The simulated CLI, built beside the tests of this crate so that they can start it.

use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> =
        std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
    let status = weir_testkit::simulated::main(
        &arguments,
        Box::new(std::io::stdin()),
        Box::new(std::io::stdout()),
        Box::new(std::io::stderr()),
    );
    ExitCode::from(status)
}
