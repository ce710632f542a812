//! Starts a process, and changes the options of the next one.

use weir_process::Process;

use super::launcher::{Started, Step};
use super::{Driver, OurSide, Streams};
use crate::error::SessionError;
use crate::fingerprint::Fingerprint;
use crate::machine::{Event, Spawn};
use crate::options::SessionOptions;

impl Driver {
    /// Starts a process. Callers are served meanwhile.
    pub(super) fn begin(&mut self, spawn: Spawn) {
        let Some(launcher) = &mut self.launcher else { return };
        self.must_end = false;
        self.running = None;
        match launcher.prepare() {
            Some(prepare) => self.starting = Some((prepare, spawn)),
            None => self.launch(spawn),
        }
    }

    fn launch(&mut self, spawn: Spawn) {
        let Some(launcher) = &mut self.launcher else { return };
        match launcher.launch(&spawn) {
            Ok(starting) => self.starting = Some((starting, spawn)),
            Err(error) => self.tell(Event::StartFailed(error)),
        }
    }

    /// A step towards a process is complete.
    pub(super) fn stepped(&mut self, step: Step) {
        let Some((_, spawn)) = self.starting.take() else { return };
        match step {
            Step::Prepared(Ok(prepared)) => {
                if let Some(launcher) = &mut self.launcher {
                    launcher.prepared(prepared);
                }
                self.launch(spawn);
            }
            Step::Spawned(Ok(started)) => self.started(*started),
            Step::Prepared(Err(error)) | Step::Spawned(Err(error)) => self.start_failed(error),
        }
    }

    fn start_failed(&mut self, error: SessionError) {
        self.tell(Event::StartFailed(error));
    }

    fn started(&mut self, Started { process, introduction, said }: Started) {
        self.facts.pid = process.handle.pid();
        self.facts.logs = process.logs.map(Box::new);
        self.facts.log_error = None;
        self.facts.processes += 1;
        self.calls.glance().process_started();
        let Process { handle, output, input, stderr, .. } = process;
        self.streams = Some(Streams { output, input, stderr: Some(stderr), unwritten: Vec::new() });
        self.handle = Some(handle);
        let too_old = self.launcher.as_ref().is_some_and(super::Launcher::is_too_old);
        self.tell(Event::Started { too_old, introduction: introduction.map(Box::new) });
        self.hear(&said);
        self.check_logs();
    }

    /// Continues with other options. A process being started is restarted with them; a running one is replaced
    /// when the machine decides that it can be.
    pub(super) fn reconfigure(&mut self, mut options: SessionOptions, fingerprint: Option<Fingerprint>) {
        let Some(launcher) = &mut self.launcher else { return };
        let mut side = OurSide::take(&mut options);
        if let Some(fold) = side.shared_fold.take() {
            // The host may have loaded the session again since this one was made.
            self.machine.share(fold);
        }
        if let Some(observer) = self.deciders.take(side, &self.calls) {
            self.listeners.observer = Some(observer);
        }
        options.history = None;
        let mut settings = Box::new(options.machine_settings());
        if let Some(fold) = self.machine.shared_options() {
            settings.fold = fold;
        }
        let running = *self.running.get_or_insert_with(|| launcher.fingerprint());
        launcher.reconfigure(options, fingerprint);
        let is_other = launcher.fingerprint() != running;
        let replace = is_other && self.handle.is_some();
        self.tell(Event::Reconfigured { settings, replace });
        if let Some((_, spawn)) = self.starting.take_if(|_| is_other) {
            self.begin(spawn);
        }
    }
}
