//! Signals, handled as in the real CLI: SIGINT ends the turn and then the process, SIGTERM kills the tools and exits
//! with 143.

use std::sync::Arc;
use std::time::Duration;

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use super::cancel::{Cancel, Stop};
use super::misbehave::Misbehaviour;
use super::sim::Sim;

/// How long tools have to report that they were killed.
const GRACE: Duration = Duration::from_millis(1_500);

/// Waits for signals on a separate thread.
pub(crate) fn watch(sim: &Arc<Sim>) -> std::io::Result<()> {
    let mut signals = Signals::new([SIGINT, SIGTERM])?;
    let sim = Arc::clone(sim);
    std::thread::spawn(move || {
        for signal in signals.forever() {
            match signal {
                SIGINT if !sim.misbehaves(&Misbehaviour::IgnoreSigint) => interrupt(&sim),
                SIGTERM if !sim.misbehaves(&Misbehaviour::IgnoreSigterm) => terminate(&sim),
                _ => {}
            }
        }
    });
    Ok(())
}

fn interrupt(sim: &Sim) {
    match sim.queue.current() {
        Some(current) => current.cancel(Stop::Signal),
        None => sim.queue.end(Some(0), Stop::Signal),
    }
}

fn terminate(sim: &Sim) {
    sim.tasks.stop_all();
    sim.queue.end(Some(143), Stop::Terminate);
    // The main thread ends the process in time, unless something hangs.
    _ = Cancel::new().sleep(GRACE);
    std::process::exit(143);
}
