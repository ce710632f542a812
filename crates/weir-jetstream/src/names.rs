//! What streams and subjects are called.

use weir_store::SessionId;

use crate::error::ClusterError;
use crate::record::RecordId;

/// Names that begin with the name of the cluster, so that several can share servers.
#[derive(Debug, Clone)]
pub(crate) struct Names {
    cluster: String,
}

impl Names {
    pub(crate) fn new(cluster: &str) -> Result<Self, ClusterError> {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        if (1..=32).contains(&cluster.len()) && cluster.bytes().all(is_plain) {
            return Ok(Self { cluster: cluster.to_owned() });
        }
        let message = "is not a valid name for a cluster: use 1 to 32 letters, digits, '-' and '_'";
        Err(ClusterError::Invalid(format!("{cluster:?} {message}")))
    }

    /// The stream of records.
    pub(crate) fn log_stream(&self) -> String {
        format!("{}_log", self.cluster)
    }

    pub(crate) fn all_logs(&self) -> String {
        format!("{}.log.*", self.cluster)
    }

    pub(crate) fn log(&self, session: &SessionId) -> String {
        format!("{}.log.{session}", self.cluster)
    }

    /// The session whose records have this subject.
    pub(crate) fn session(&self, subject: &str) -> Option<SessionId> {
        let rest = subject.strip_prefix(self.cluster.as_str())?.strip_prefix(".log.")?;
        rest.parse().ok()
    }

    /// The stream of parts.
    pub(crate) fn part_stream(&self) -> String {
        format!("{}_parts", self.cluster)
    }

    pub(crate) fn all_parts(&self) -> String {
        format!("{}.part.>", self.cluster)
    }

    /// All that belongs to a session apart from its records.
    pub(crate) fn parts_of(&self, born: RecordId) -> String {
        format!("{}.part.{}.>", self.cluster, born.0.simple())
    }

    /// The list of a session's checkpoints and blobs.
    pub(crate) fn index(&self, born: RecordId) -> String {
        format!("{}.part.{}.index", self.cluster, born.0.simple())
    }

    /// A part of a body, a checkpoint or a blob.
    pub(crate) fn part(&self, born: RecordId, of: RecordId, number: usize) -> String {
        format!("{}.part.{}.{}.{number}", self.cluster, born.0.simple(), of.0.simple())
    }

    /// All parts of one body, checkpoint or blob.
    pub(crate) fn parts(&self, born: RecordId, of: RecordId) -> String {
        format!("{}.part.{}.{}.*", self.cluster, born.0.simple(), of.0.simple())
    }

    fn lease_bucket(&self) -> String {
        format!("{}_leases", self.cluster)
    }

    /// The stream of the KV bucket with the leases.
    pub(crate) fn lease_stream(&self) -> String {
        format!("KV_{}", self.lease_bucket())
    }

    pub(crate) fn all_leases(&self) -> String {
        format!("$KV.{}.>", self.lease_bucket())
    }

    pub(crate) fn lease(&self, name: &str) -> String {
        format!("$KV.{}.{name}", self.lease_bucket())
    }

    pub(crate) fn all_wakes(&self) -> String {
        format!("{}.wake.>", self.cluster)
    }

    pub(crate) fn wake(&self, topic: &str) -> String {
        format!("{}.wake.{topic}", self.cluster)
    }

    /// The topic that is woken by a message on this subject.
    pub(crate) fn topic<'s>(&self, subject: &'s str) -> Option<&'s str> {
        subject.strip_prefix(self.cluster.as_str())?.strip_prefix(".wake.")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subjects_lead_back_to_sessions_and_topics() {
        let names = Names::new("team-1").unwrap();
        let session: SessionId = "a_b-3".parse().unwrap();
        assert_eq!(names.session(&names.log(&session)), Some(session));
        assert_eq!(names.session("team-12.log.a"), None);
        assert_eq!(names.session("team-1.log.a.b"), None);
        assert_eq!(names.topic(&names.wake("session.x")), Some("session.x"));
        for wrong in ["", "a.b", "a b", "*", &"x".repeat(33)] {
            assert!(Names::new(wrong).is_err(), "{wrong}");
        }
    }
}
