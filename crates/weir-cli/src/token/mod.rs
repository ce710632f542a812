//! `weir token`: manages the tokens of a server.

use std::io::{IsTerminal as _, Write as _};
use std::path::Path;
use std::time::Duration;

use serde_json::json;
use weir_base::money::dollars;
use weir_base::time::now_ms;
use weir_server::{NewToken, Role, Token, TokenInfo, Tokens, link};

use crate::exit::{Exit, UsageError, tell};
use crate::opts::{AddTokenOpts, TokenCommand, TokenOpts};
use crate::screen::{Style, Table};
use crate::serve::{ADDRESS_FILE, data_directory};

pub(crate) fn run(opts: TokenOpts) -> anyhow::Result<Exit> {
    match opts.command {
        TokenCommand::Add(opts) => add(opts),
        TokenCommand::List { json, data } => list(&data_directory(data)?, json),
        TokenCommand::Revoke { tokens, data } => revoke(&data_directory(data)?, &tokens),
    }
}

fn open(data: &Path) -> anyhow::Result<Tokens> {
    weir_base::file::create_private_folder(data)?;
    Ok(Tokens::open(data.join("tokens.json"))?)
}

fn add(opts: AddTokenOpts) -> anyhow::Result<Exit> {
    if let Some(problem) = weir_server::token_name_problem(&opts.name) {
        return Err(UsageError(problem.to_owned()).into());
    }
    if opts.role == Role::Admin && opts.session.is_some() {
        return Err(UsageError("an admin token is for all sessions; leave out --session".to_owned()).into());
    }
    let data = data_directory(opts.data)?;
    let now = now_ms();
    let new = NewToken {
        name: opts.name,
        role: opts.role,
        session: opts.session.clone(),
        maker: None,
        expires_at: opts.expires.map(|time| now + milliseconds(time)),
        max_cost_usd: opts.max_cost,
        requests_per_minute: opts.requests_per_minute,
    };
    let (token, secret) = open(&data)?.add(new, now)?;
    let url = std::fs::read_to_string(data.join(ADDRESS_FILE)).ok();
    let link = url.map(|url| link(url.trim(), &secret, opts.session.as_deref()));
    let mut out = std::io::stdout().lock();
    if opts.json {
        let info = TokenInfo::from(&token);
        writeln!(out, "{}", json!({"token": secret.reveal(), "link": link, "info": info}))?;
        return Ok(Exit::Success);
    }
    writeln!(out, "{}", secret.reveal())?;
    tell(&format!("weir: {} token {} for {}; it will not be shown again", token.role, token.id, token.name));
    match link {
        Some(link) if std::io::stderr().is_terminal() => {
            tell(&format!("weir: as a link:\n\n    {link}\n"));
        }
        // This output may end up in a log; the token itself goes to the standard output only.
        Some(_) => tell("weir: `weir token add --json` also prints a link"),
        None => {}
    }
    Ok(Exit::Success)
}

fn milliseconds(time: Duration) -> i64 {
    i64::try_from(time.as_millis()).unwrap_or(i64::MAX / 2)
}

fn list(data: &Path, as_json: bool) -> anyhow::Result<Exit> {
    let tokens = open(data)?.list();
    let mut out = std::io::stdout().lock();
    if as_json {
        for token in &tokens {
            writeln!(out, "{}", serde_json::to_string(&TokenInfo::from(token))?)?;
        }
        return Ok(Exit::Success);
    }
    if tokens.is_empty() {
        tell("weir: no tokens; the first start of `weir serve` creates one");
        return Ok(Exit::Success);
    }
    let now = now_ms();
    let mut table = Table::new(&["ID", "NAME", "ROLE", "SESSION", "EXPIRES", "SPENT"]);
    for token in &tokens {
        table.row(row(token, now));
    }
    for line in table.lines(Style::for_stdout(), None) {
        writeln!(out, "{line}")?;
    }
    Ok(Exit::Success)
}

fn row(token: &Token, now: i64) -> [String; 6] {
    let expires = match token.expires_at {
        None => "-".to_owned(),
        Some(at) if at <= now => "expired".to_owned(),
        Some(at) => in_words(at - now),
    };
    let spent = match token.max_cost_usd {
        None => "-".to_owned(),
        Some(limit) => format!("{} of {}", dollars(token.spent_usd), dollars(limit)),
    };
    let session = token.session.clone().unwrap_or_else(|| "all".to_owned());
    [token.id.clone(), token.name.clone(), token.role.to_string(), session, expires, spent]
}

fn in_words(ms: i64) -> String {
    match ms / 1000 {
        seconds if seconds < 120 => format!("in {seconds} s"),
        seconds if seconds < 2 * 3600 => format!("in {} min", seconds / 60),
        seconds if seconds < 2 * 86400 => format!("in {} h", seconds / 3600),
        // Rounded, so that a token just created for 30 days expires in 30 days.
        seconds => format!("in {} days", (seconds + 43200) / 86400),
    }
}

fn revoke(data: &Path, wanted: &[String]) -> anyhow::Result<Exit> {
    let tokens = open(data)?;
    let mut missing = Vec::new();
    for one in wanted {
        let revoked = tokens.revoke(|token| token.id == *one || token.name == *one)?;
        for token in &revoked {
            tell(&format!("weir: revoked {} ({} of {})", token.id, token.role, token.name));
        }
        if revoked.is_empty() {
            missing.push(one.as_str());
        }
    }
    if missing.is_empty() {
        return Ok(Exit::Success);
    }
    let missing = missing.join(", ");
    Err(UsageError(format!("no token {missing} found; `weir token list` shows them")).into())
}
