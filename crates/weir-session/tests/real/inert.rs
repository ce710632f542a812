//! Text is inert: whatever a message says, a real CLI reads no file and runs no command because of it.

use weir_session::{Message, Session};
use weir_testkit::Place;
use weir_testkit::api::ScriptedApi;
use weir_testkit::scenario::{Cli, Process};
use weir_wire::{OutgoingBlock, OutgoingContent};

use crate::host::Host;
use crate::options::options;
use crate::recorder::Recorder;

/// Content of the files that must not be read, and of the command's output.
const SECRET: &str = "the-reeds-are-7731-tall";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_text_reads_no_file_and_runs_no_command() {
    let runs = crate::real_clis().into_iter().map(|cli| tokio::spawn(attack(Cli::from(cli))));
    for run in runs.collect::<Vec<_>>() {
        run.await.unwrap();
    }
}

async fn attack(cli: Cli) {
    let (place, api) = (Place::new().unwrap(), ScriptedApi::start().unwrap());
    let outside = place.root().join("outside");
    std::fs::create_dir_all(outside.join("a b")).unwrap();
    std::fs::create_dir_all(place.home().join(".claude/commands")).unwrap();
    let command = format!("---\ndescription: a trap\n---\nOne.\n\nTwo: {SECRET} $ARGUMENTS");
    for (file, text) in [
        (outside.join("secret.txt"), SECRET),
        (outside.join("a b/secret.txt"), SECRET),
        (place.home().join("secret.txt"), SECRET),
        (place.directory().join("secret.txt"), SECRET),
        (place.home().join(".claude/commands/trap.md"), &command),
    ] {
        std::fs::write(file, text).unwrap();
    }
    let (process, recorder) = (Process::default(), Recorder::default());
    let session = Session::new(options((&cli, &place, &api), &process, "", &Host::new(&process), &recorder));
    let outside = outside.display();
    let texts = [
        format!("see @{outside}/secret.txt"),
        format!("@{outside}/secret.txt"),
        format!("a\n\t@{outside}/secret.txt#L1-2 b\u{a0}@{outside}/secret.txt \u{feff}@{outside}/secret.txt"),
        format!("\\@{outside}/secret.txt @@{outside}/secret.txt \u{2028}@{outside}/secret.txt"),
        format!("@\"{outside}/a b/secret.txt\""),
        "@~/secret.txt @secret.txt @./secret.txt @../outside/secret.txt".to_owned(),
        "/trap".to_owned(),
        "/trap with words".to_owned(),
        " \n/trap".to_owned(),
    ];
    let blocks = |texts: &[&str]| {
        Message::from(OutgoingContent::Blocks(
            texts.iter().map(|text| OutgoingBlock::Text((*text).to_owned())).collect(),
        ))
    };
    let mut messages: Vec<Message> = texts.iter().map(|text| text.as_str().into()).collect();
    messages.extend(texts.iter().map(|text| blocks(&["look", text])));
    messages.push(blocks(&["/trap", "/trap"]));
    for message in messages {
        let sent = format!("{message:?}");
        let end = session.ask(message).await.unwrap();
        assert!(!end.is_error(), "{cli} {sent}: {}", end.text);
        let told = api.requests().iter().any(|request| request.body.to_string().contains(SECRET));
        assert!(!told, "{cli}: the model was told a secret by {sent}");
    }
    // The same texts as if typed, which shows that the test can fail.
    for text in [&texts[0], &texts[5], &texts[7]] {
        let before = api.requests().len();
        session.ask(Message::from(text.as_str()).interpreted()).await.unwrap();
        let told =
            api.requests().iter().skip(before).any(|request| request.body.to_string().contains(SECRET));
        assert!(told, "{cli}: {text} did nothing");
    }
    session.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_arguments_of_a_command_read_no_file() {
    for cli in crate::real_clis().into_iter().map(Cli::from) {
        let (place, api) = (Place::new().unwrap(), ScriptedApi::start().unwrap());
        let secret = place.root().join("secret.txt");
        std::fs::write(&secret, SECRET).unwrap();
        std::fs::create_dir_all(place.home().join(".claude/commands")).unwrap();
        // Newer versions split arguments like a shell.
        let command = "---\ndescription: repeats it\n---\nYou were told: $ARGUMENTS\n$0 $1 $2\n$ARGUMENTS[0] $ARGUMENTS[1]";
        std::fs::write(place.home().join(".claude/commands/again.md"), command).unwrap();
        let (process, recorder) = (Process::default(), Recorder::default());
        let session =
            Session::new(options((&cli, &place, &api), &process, "", &Host::new(&process), &recorder));
        let secret = secret.display();
        for arguments in [
            format!("@{secret}"),
            format!("x @\"{secret}\""),
            format!("\\@{secret} '@{secret}' \"\\\\@{secret}\""),
            format!("$9@{secret} $8@{secret}"),
        ] {
            session.ask(Message::command("again", &arguments).unwrap()).await.unwrap();
        }
        session.stop().await;
        let bodies: Vec<String> = api.requests().iter().map(|request| request.body.to_string()).collect();
        assert!(bodies.iter().any(|body| body.contains("You were told: ")), "{cli}: the command did not run");
        assert!(!bodies.iter().any(|body| body.contains(SECRET)), "{cli}: its arguments were read");
    }
}
