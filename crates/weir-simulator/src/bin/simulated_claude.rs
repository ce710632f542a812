//! The simulated `claude` as a program. All of it is in the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    let words = std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned());
    weir_simulator::play(&words.collect::<Vec<String>>())
}
