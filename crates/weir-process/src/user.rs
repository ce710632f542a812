//! Users of the system that a process can run as.

use std::path::{Path, PathBuf};

use crate::environment::Environment;

/// Where the users of a system are listed.
const USERS: &str = "/etc/passwd";

/// Another user of the system that a process runs as, so that the system keeps it away from our own files. Only root can
/// start a process as another user.
///
/// The process has that user's main group and no other one, and that user's `HOME`, `USER` and `LOGNAME`, unless the
/// environment sets them.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct OsUser {
    name: String,
    uid: u32,
    gid: u32,
    home: PathBuf,
}

/// Why a process cannot run as another user.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum UserError {
    /// There is no such user.
    #[error("there is no user {name} in {USERS}")]
    Unknown {
        /// The name that was looked for.
        name: String,
    },
    /// The list of users cannot be read.
    #[error("the list of users cannot be read: {source}")]
    Unreadable {
        /// The error of the system.
        #[source]
        source: std::io::Error,
    },
    /// The system has no users of this kind.
    #[error("a process cannot run as another user on this system")]
    NoSystem,
}

impl OsUser {
    /// The user with this name on this machine. Users of a directory service are not known here.
    ///
    /// # Errors
    /// There is no such user.
    pub fn named(name: &str) -> Result<Self, UserError> {
        if !cfg!(unix) {
            return Err(UserError::NoSystem);
        }
        let users = std::fs::read(USERS).map_err(|source| UserError::Unreadable { source })?;
        let users = String::from_utf8_lossy(&users);
        users
            .lines()
            .find_map(|line| Self::of_line(line).filter(|user| user.name == name))
            .ok_or_else(|| UserError::Unknown { name: name.to_owned() })
    }

    /// The user in a line such as `ann:x:1000:1000:Ann:/home/ann:/bin/sh`.
    fn of_line(line: &str) -> Option<Self> {
        let mut fields = line.split(':');
        let name = fields.next().filter(|name| !name.is_empty())?.to_owned();
        let (uid, gid) = (fields.nth(1)?.parse().ok()?, fields.next()?.parse().ok()?);
        let home = fields.nth(1).filter(|home| home.starts_with('/'))?.into();
        Some(Self { name, uid, gid, home })
    }

    /// The name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The home folder.
    pub fn home(&self) -> &Path {
        &self.home
    }

    /// This environment, with the variables that say who the user is.
    #[must_use]
    pub fn environment(&self, environment: Environment) -> Environment {
        environment
            .set_default("HOME", &self.home)
            .set_default("USER", &self.name)
            .set_default("LOGNAME", &self.name)
    }

    /// Gives a file or folder to the user.
    ///
    /// # Errors
    /// It is not ours to give.
    pub fn give(&self, path: &Path) -> std::io::Result<()> {
        #[cfg(unix)]
        return std::os::unix::fs::lchown(path, Some(self.uid), Some(self.gid));
        #[cfg(not(unix))]
        {
            let _ = path;
            Err(std::io::ErrorKind::Unsupported.into())
        }
    }

    /// The numbers of the user and of the main group.
    #[cfg(unix)]
    pub(crate) fn numbers(&self) -> (u32, u32) {
        (self.uid, self.gid)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::OsString;

    #[test]
    fn users_are_read_from_the_system_s_list() {
        let user = OsUser::of_line("ann:x:1000:100:Ann,,,:/home/ann:/bin/sh").unwrap();
        let expected = OsUser { name: "ann".into(), uid: 1000, gid: 100, home: "/home/ann".into() };
        assert_eq!(user, expected);
        for line in
            ["", "ann", "ann:x:1000", "ann:x:-1:100::/home/ann:", "ann:x:1:1::relative:", ":x:0:0::/:"]
        {
            assert_eq!(OsUser::of_line(line), None, "{line}");
        }
    }

    #[test]
    #[cfg(unix)]
    fn a_user_that_does_not_exist_is_refused() {
        assert_eq!(OsUser::named("root").unwrap().name(), "root");
        assert!(matches!(OsUser::named("nobody-of-that-name"), Err(UserError::Unknown { .. })));
        assert!(matches!(OsUser::named(""), Err(UserError::Unknown { .. })));
    }

    #[test]
    fn the_environment_is_that_of_the_user_unless_it_is_set() {
        let user = OsUser::of_line("ann:x:1000:100::/home/ann:/bin/sh").unwrap();
        let ours =
            || [("HOME".into(), "/home/me".into()), ("LANG".into(), "C".into())] as [(OsString, OsString); 2];
        let inherited = user.environment(Environment::inherit()).resolve(ours());
        assert_eq!(inherited[&OsString::from("HOME")], "/home/ann");
        assert_eq!(inherited[&OsString::from("USER")], "ann");
        assert_eq!(inherited[&OsString::from("LANG")], "C");
        let set = user.environment(Environment::inherit().set("HOME", "/srv")).resolve(ours());
        assert_eq!(set[&OsString::from("HOME")], "/srv");
    }
}
