//! The simulated CLI as an example of a crate, so that Cargo builds it next to the tests of that crate.

use std::process::ExitCode;

fn main() -> ExitCode {
    let words = std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned());
    weir_testkit::play(&words.collect::<Vec<String>>())
}
