//! The simulated `claude` as a program of its own. All of it is in the library.

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
