//! Settings of `weir doctor`.

use std::path::PathBuf;

use crate::folders;
use crate::opts::DoctorOpts;

/// What to check.
pub(crate) struct Settings {
    pub(super) claude: Option<PathBuf>,
    pub(super) json: bool,
    pub(super) clean: bool,
    pub(super) offline: bool,
    pub(super) state: Option<PathBuf>,
}

impl From<DoctorOpts> for Settings {
    fn from(opts: DoctorOpts) -> Self {
        Self {
            claude: opts.claude,
            json: opts.json,
            clean: opts.clean,
            offline: opts.offline,
            state: opts.state_dir.or_else(folders::state),
        }
    }
}
