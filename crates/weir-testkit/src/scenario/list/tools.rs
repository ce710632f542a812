//! Tools, permissions, questions and plans.

use super::{calls, runs, says, script};
use crate::json::Json;
use crate::scenario::model::{Action, Condition, Process, Reply, Scenario};
use crate::{array, object};

const APP: &str = "def add(a, b):\n    return a - b\n";

pub(super) fn scenarios() -> Vec<Scenario> {
    let mut scenarios = running();
    scenarios.extend(permissions());
    scenarios.extend(questions_and_plans());
    scenarios
}

fn write(name: &str) -> Json {
    calls("Write", object! { "file_path" => format!("{{{{CWD}}}}/{name}"), "content" => "new\n" })
}

fn running() -> Vec<Scenario> {
    vec![
        Scenario::new(
            "bash",
            "a command, its output and its failure",
            Process::conversation([script([
                runs("echo out; echo err >&2").with("text", "Running."),
                runs("exit 3"),
                says("done"),
            ])]),
        )
        .shows("[1] tool Bash Succeeded \"echo out; echo err >&2\"")
        .shows("[1] tool Bash Failed \"exit 3\""),
        Scenario::new(
            "tools-parallel",
            "three calls in one message; results come as they are ready",
            Process::conversation([script([
                object! {
                    "text" => "Three at once.",
                    "tools" => array![runs("sleep 0.6; echo slow"), runs("echo quick"),
                        calls("Read", object! { "file_path" => "{{CWD}}/app.py" })],
                },
                says("all done"),
            ])]),
        )
        .shows("output \"slow\"")
        .shows("output \"quick\"")
        .file("app.py", APP),
        Scenario::new(
            "files",
            "a file is read, edited and overwritten, and one is created",
            Process::conversation([script([
                calls("Read", object! { "file_path" => "{{CWD}}/app.py" }),
                calls(
                    "Edit",
                    object! { "file_path" => "{{CWD}}/app.py", "old_string" => "a - b", "new_string" => "a + b" },
                ),
                calls("Write", object! { "file_path" => "{{CWD}}/app.py", "content" => "print(1)\nprint(2)\n" }),
                write("new.txt"),
                calls("Edit", object! { "file_path" => "{{CWD}}/app.py", "old_string" => "not there", "new_string" => "x" }),
                says("edited"),
            ])])
            .flags(["--permission-mode", "acceptEdits"]),
        )
        .shows("file Edited <cwd>/app.py +1 -1")
        .shows("file Created <cwd>/new.txt +1 -0")
        .shows("[1] tool Edit Failed *")
        .file("app.py", APP),
        Scenario::new(
            "search",
            "files and lines are found",
            Process::conversation([script([
                calls("Glob", object! { "pattern" => "*.txt" }),
                calls("Grep", object! { "pattern" => "needle", "output_mode" => "content", "-n" => true }),
                says("found"),
            ])]),
        )
        .shows("[1] tool Glob *")
        .shows("[1] tool Grep *")
        .file("a.txt", "needle one\nhay\nneedle two\n")
        .file("b.md", "hay\n"),
        Scenario::new(
            "wrong-calls",
            "a tool that does not exist, and a call without its arguments",
            Process::conversation([script([
                calls("NoSuchTool", object! { "x" => 1 }),
                calls("Read", object! { "nonsense" => 1 }),
                says("sorry"),
            ])]),
        )
        .shows("[1] tool NoSuchTool Failed *")
        .shows("[1] tool Read Failed *"),
        Scenario::new(
            "big-tool-result",
            "a long output with the input held open",
            Process::conversation([script([runs("seq 1 60000"), says("long")])]),
        )
        .shows("[1] tool Bash Succeeded \"seq 1 60000\"")
        .shows("[1] text Complete \"long\""),
        Scenario::new(
            "todos",
            "a to-do list, as in the older version",
            Process::conversation([script([
                todos("in_progress", "pending"),
                todos("completed", "completed"),
                says("all done"),
            ])]),
        ),
        Scenario::new(
            "task-list",
            "a to-do list, as in the newer version",
            Process::conversation([script([
                calls("TaskCreate", object! { "subject" => "Fix add", "description" => "make add add" }),
                calls("TaskCreate", object! { "subject" => "Test it", "description" => "run the tests" }),
                calls("TaskUpdate", object! { "taskId" => "1", "status" => "completed" }),
                says("one is done"),
            ])])
            .flags(["--allowedTools", "TaskCreate,TaskUpdate"]),
        ),
    ]
}

fn todos(first: &str, second: &str) -> Json {
    let item = |content: &str, status: &str| object! { "content" => content, "status" => status, "activeForm" => content };
    calls("TodoWrite", object! { "todos" => array![item("Fix add", first), item("Test it", second)] })
}

fn permissions() -> Vec<Scenario> {
    let touch = || script([runs("touch made.txt"), says("done")]);
    vec![
        Scenario::new(
            "permission-allowed",
            "the host allows a command, after a while",
            Process::new([
                Action::Send(touch()),
                Action::Await(Condition::PermissionRequests(1)),
                Action::AnswerHeld(Reply::Allow),
                Action::Await(Condition::Results(1)),
            ])
            .reply("Bash", Reply::Hold),
        )
        .shows("request permission Bash *")
        .shows("state Allowed *")
        .shows("[1] tool Bash Succeeded \"touch made.txt\""),
        Scenario::new(
            "permission-denied-by-host",
            "the host denies a command, the model continues",
            Process::conversation([touch()]).reply("Bash", Reply::Deny("not today")),
        )
        .shows("state Denied *")
        .shows("[1] tool Bash Denied \"touch made.txt\"")
        .shows("turn 1 denied Bash *"),
        Scenario::new(
            "permission-denied-and-interrupted",
            "the host denies a command and ends the turn",
            Process::new([
                Action::Send(touch()),
                Action::Await(Condition::Results(1)),
                Action::Send(script([says("still here")])),
                Action::Await(Condition::Results(2)),
            ])
            .reply("Bash", Reply::DenyAndInterrupt("stop it")),
        )
        .shows("turn 1 Interrupted*")
        .shows("*text Complete \"still here\""),
        Scenario::new(
            "permission-changed",
            "the host allows a different command than the requested one",
            Process::conversation([touch()]).reply(
                "Bash",
                Reply::AllowWith(object! { "command" => "echo changed", "description" => "a step" }),
            ),
        )
        .shows("output \"changed\""),
        Scenario::new(
            "permission-always",
            "the host accepts the CLI's suggestion, and is not asked again",
            Process::conversation([script([write("a.txt"), write("b.txt"), says("done")])])
                .reply("Write", Reply::AllowAlways),
        )
        .shows("file Created <cwd>/a.txt *")
        .shows("file Created <cwd>/b.txt *"),
        Scenario::new("permission-denied-no-host", "the user cannot be asked", {
            let mut process = Process::conversation([touch()]);
            process.unattended = true;
            process
        })
        .shows("turn 1 denied Bash *"),
        Scenario::new("allowed-tools", "a rule allows it, the user is not asked", {
            let mut process = Process::conversation([touch()]).flags(["--allowedTools", "Bash(touch:*)"]);
            process.unattended = true;
            process
        }),
        Scenario::new(
            "disallowed-tools",
            "a rule removes a tool",
            Process::conversation([touch()]).flags(["--disallowedTools", "Bash"]),
        )
        .shows("[1] tool Bash Failed *"),
    ]
}

fn questions_and_plans() -> Vec<Scenario> {
    let option = |label: &str| object! { "label" => label, "description" => format!("the {label} one") };
    let question = |text: &str, several: bool| {
        object! {
            "question" => text, "header" => "Choice", "multiSelect" => several,
            "options" => array![option("red"), option("blue")],
        }
    };
    let asks =
        object! { "questions" => array![question("Which colour?", false), question("Which ones?", true)] };
    let asks = calls("AskUserQuestion", asks).with("text", "I have to ask.");
    let plans = |input: Json| calls("ExitPlanMode", input).with("text", "Here is my plan.");
    vec![
        Scenario::new(
            "question-answered",
            "two questions, the second with two answers",
            Process::conversation([script([asks.clone(), says("thank you")])]).reply(
                "AskUserQuestion",
                Reply::Answer(vec![("Which colour?", "blue"), ("Which ones?", "red, blue")]),
            ),
        )
        .shows("request question *")
        .shows("state Allowed *answers*"),
        Scenario::new(
            "question-declined",
            "the user declines to answer",
            Process::conversation([script([asks, says("then not")])])
                .reply("AskUserQuestion", Reply::Deny("no answer")),
        )
        .shows("state Denied *"),
        Scenario::new(
            "plan-approved",
            "a plan is written to its file and approved",
            Process::conversation([script([
                calls(
                    "Write",
                    object! { "file_path" => "{{PLAN}}", "content" => "# Plan\n1. Write a.txt\n" },
                ),
                plans(object! {}),
                says("end of plan"),
            ])])
            .flags(["--permission-mode", "plan"]),
        )
        .shows("request plan *")
        .shows("[1] tool ExitPlanMode Succeeded *"),
        Scenario::new(
            "plan-refused",
            "a plan is refused",
            Process::conversation([script([
                plans(object! { "plan" => "# Plan" }),
                says("another plan then"),
            ])])
            .flags(["--permission-mode", "plan"])
            .reply("ExitPlanMode", Reply::Deny("use a smaller plan")),
        )
        .shows("[1] tool ExitPlanMode Denied *"),
    ]
}
