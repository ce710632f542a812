//! What sessions of clients may be like, when they get a process: the operator may have allowed more when they were created.

use weir_host::{Policy, SessionSpec, is_of_owner};

use crate::settings::ServerSettings;
use crate::tools::ToolPolicy;

/// What clients may choose on this server.
#[derive(Debug)]
pub(crate) struct ClientPolicy {
    permission_modes: Vec<String>,
    tools: ToolPolicy,
}

impl ClientPolicy {
    pub(crate) fn new(settings: &ServerSettings) -> Self {
        Self { permission_modes: settings.permission_modes.clone(), tools: settings.tools.clone() }
    }
}

impl Policy for ClientPolicy {
    fn narrow(&self, origin: &str, spec: &mut SessionSpec) {
        // Their configuration is the owner's.
        if is_of_owner(origin) {
            return;
        }
        // Without one the CLI asks.
        spec.permission_mode.take_if(|mode| !self.permission_modes.contains(mode));
        spec.allowed_tools.retain(|rule| {
            let granted = self.tools.check(vec![rule.clone()]);
            granted.is_ok_and(|rules| !rules.is_empty())
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_longer_allowed_is_taken_from_sessions_of_clients() {
        let policy = ClientPolicy::new(&ServerSettings {
            tools: ToolPolicy::new(["Bash(git:*)".to_owned()]),
            ..ServerSettings::default()
        });
        let stored = SessionSpec {
            permission_mode: Some("bypassPermissions".to_owned()),
            allowed_tools: ["Bash", "Bash(git:*)", "Read", "TodoWrite"].map(str::to_owned).into(),
            ..SessionSpec::default()
        };
        for (origin, tools) in
            [("api", 2), ("page", 2), ("acp", 2), ("openai", 2), ("bridge", 4), ("loop", 4)]
        {
            let mut spec = stored.clone();
            policy.narrow(origin, &mut spec);
            assert_eq!(
                (spec.allowed_tools.len(), spec.permission_mode.is_none()),
                (tools, tools == 2),
                "{origin}"
            );
        }
        let mut spec = SessionSpec { permission_mode: Some("plan".to_owned()), ..SessionSpec::default() };
        policy.narrow("api", &mut spec);
        assert_eq!(spec.permission_mode.as_deref(), Some("plan"));
    }
}
