//! Which tools exist.

use serde_json::json;
use weir_session::{Session, Unlisted, tools_of_rules};
use weir_transcript::ToolState;

use crate::place::{Place, script, soon};

#[tokio::test]
async fn a_tool_that_no_rule_names_does_not_exist_or_run() {
    for version in ["2.1.325", "2.1.9"] {
        let place = Place::new();
        let rules = ["Read".to_owned()];
        let tools = tools_of_rules(&rules, Unlisted::Absent);
        let mut options = place.options().allowed_tools(rules).tools(tools);
        options.environment = options.environment.set("SIMULATED_CLAUDE_VERSION", version);
        let session = Session::new(options);
        let calls = json!([{"tool": "Bash", "input": {"command": "echo it ran"}}, {"text": "done"}]);
        assert_eq!(soon(session.ask(script(&calls))).await.unwrap().text, "done");
        let view = session.view().await.unwrap();
        let had: Vec<&str> = view.session.tools.iter().map(String::as_str).collect();
        assert!(
            had.contains(&"Read") && !had.contains(&"Bash") && !had.contains(&"Task"),
            "{version}: {had:?}"
        );
        let (_, tool) = view.tools().last().unwrap();
        assert_eq!(tool.state, ToolState::Failed, "{version}");
        soon(session.stop()).await;
        place.assert_clean().await;
    }
}
