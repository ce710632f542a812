//! `weir-soak`: random conversations and faults for `SOAK_SECONDS`, from `SOAK_SEED`. See the library.

#![expect(clippy::print_stdout, reason = "it reports its progress")]

use std::process::ExitCode;

use weir_soak::{SIMULATED, Settings, soak};

fn main() -> ExitCode {
    let mut words = std::env::args().skip(1).peekable();
    // It runs itself as the simulated CLI.
    if words.next_if(|word| word == SIMULATED).is_some() {
        return weir_simulator::play(&words.collect::<Vec<_>>());
    }
    #[cfg(target_os = "linux")]
    if words.next_if(|word| word == weir_soak::disk::DISK).is_some() {
        return match weir_soak::disk::run(&words.collect::<Vec<_>>()) {
            Ok(()) => ExitCode::SUCCESS,
            Err(why) => {
                println!("{why}");
                ExitCode::FAILURE
            }
        };
    }
    match run() {
        Ok(text) => {
            println!("{text}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            println!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<String, Box<dyn std::error::Error>> {
    let settings = Settings::from_environment(std::env::current_exe()?)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    match runtime.block_on(soak(&settings, |line| println!("{line}"))) {
        Ok(tally) => Ok(format!("good: {tally}")),
        Err(failure) => Err(format!("{failure}the whole run: SOAK_SEED={} make soak", settings.seed).into()),
    }
}
