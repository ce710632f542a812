//! The stored login, so that the bridge is the same device each time it starts.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use weir_base::file::create_private_folder;
use weir_bridge::BridgeError;

/// A login. It is stored before the homeserver learns about the device, and again with the token.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct KeptLogin {
    pub(crate) homeserver: String,
    pub(crate) user: String,
    pub(crate) device: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) session: Option<KeptSession>,
}

/// What the homeserver returned for the password.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct KeptSession {
    pub(crate) user_id: String,
    pub(crate) access_token: String,
}

impl std::fmt::Debug for KeptSession {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("KeptSession").field("user_id", &self.user_id).finish_non_exhaustive()
    }
}

/// The file of the login in a folder.
pub(crate) fn file(folder: &Path) -> PathBuf {
    folder.join("login.json")
}

impl KeptLogin {
    /// The login in this folder, if there is one.
    pub(crate) fn read(folder: &Path) -> Result<Option<Self>, BridgeError> {
        let path = file(folder);
        let text = match std::fs::read_to_string(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            read => read.map_err(|source| BridgeError::File { path: path.clone(), source })?,
        };
        serde_json::from_str(&text)
            .map(Some)
            .map_err(|error| BridgeError::File { path, source: error.into() })
    }

    /// Stores the login in a file that only its owner can read. The file is replaced atomically.
    pub(crate) fn write(&self, folder: &Path) -> Result<(), BridgeError> {
        let path = file(folder);
        let written = || -> std::io::Result<()> {
            create_private_folder(folder)?;
            weir_base::file::replace(&path, serde_json::to_string(self)?.as_bytes())
        };
        written().map_err(|source| BridgeError::File { path: path.clone(), source })
    }
}

#[cfg(test)]
mod tests {
    use super::{KeptLogin, KeptSession, file};

    #[test]
    fn is_stored_and_never_shown() {
        let folder = tempfile::tempdir().unwrap();
        let below = folder.path().join("matrix");
        assert_eq!(KeptLogin::read(&below).unwrap(), None);
        let session = KeptSession { user_id: "@w:e.org".into(), access_token: "syt_hidden".into() };
        let login = KeptLogin {
            homeserver: "https://e.org".into(),
            user: "@w:e.org".into(),
            device: "WEIR".into(),
            session: Some(session),
        };
        login.write(&below).unwrap();
        assert_eq!(KeptLogin::read(&below).unwrap(), Some(login.clone()));
        assert!(!format!("{login:?}").contains("hidden"));
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            assert_eq!(std::fs::metadata(file(&below)).unwrap().permissions().mode() & 0o777, 0o600);
        }
        std::fs::write(file(&below), "{").unwrap();
        assert!(KeptLogin::read(&below).unwrap_err().to_string().contains("login.json"));
    }
}
