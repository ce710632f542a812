//! `weir review`: what a folder has that a base has not.

use std::io::Write as _;

use weir_git::{GitError, Repository};
use weir_host::{HostError, RevertChange, Review, ReviewBase, ReviewFile, ReviewQuery, ReviewStatus};

use crate::exit::{Exit, UsageError, tell};
use crate::opts::{BaseOpts, ReviewCommand, ReviewOpts};
use crate::screen::{Style, clean, coloured, plural};
use crate::worktree;

pub(crate) async fn run(opts: ReviewOpts) -> anyhow::Result<Exit> {
    match opts.command {
        Some(ReviewCommand::Revert { file, hunk, base }) => revert(&file, hunk, base).await,
        None => {
            let (repository, query) = resolve(opts.base).await?;
            let review =
                weir_host::review(&repository, &query, opts.file.as_deref()).await.map_err(explained)?;
            let mut out = std::io::stdout().lock();
            if opts.json {
                serde_json::to_writer(&mut out, &review).map_err(std::io::Error::from)?;
                writeln!(out)?;
            } else {
                write!(out, "{}", text(&review, opts.stat, Style::for_stdout()))?;
            }
            Ok(Exit::Success)
        }
    }
}

async fn resolve(base: BaseOpts) -> anyhow::Result<(Repository, ReviewQuery)> {
    let kind = match (&base.against, base.exact) {
        (None, _) => ReviewBase::Head,
        (Some(_), false) => ReviewBase::MergeBase,
        (Some(_), true) => ReviewBase::Revision,
    };
    let query = ReviewQuery { base: kind, revision: base.against };
    Ok((worktree::open(base.place).await?, query))
}

/// A name that is none is a mistake in the command line.
fn explained(error: HostError) -> anyhow::Error {
    match &error {
        HostError::Git(git) if matches!(**git, GitError::Name(_)) => UsageError(error.to_string()).into(),
        _ => error.into(),
    }
}

async fn revert(path: &str, hunk: Option<u32>, base: BaseOpts) -> anyhow::Result<Exit> {
    let (repository, query) = resolve(base).await?;
    // What is there now is what is taken back: it was not shown in between.
    let review = weir_host::review(&repository, &query, Some(path)).await.map_err(explained)?;
    let Some(file) = review.files.into_iter().next() else {
        return Err(GitError::NoChange(path.to_owned()).into());
    };
    let hunk = hunk.map(|number| number.saturating_sub(1) as usize);
    let ReviewQuery { base, revision } = query;
    let change = RevertChange { path: path.to_owned(), seal: file.seal, hunk, base, revision };
    let kept = weir_host::revert(&repository, change).await?.kept;
    tell(&format!("weir: reverted {}; `git checkout {kept} -- FILE` brings it back", clean(path)));
    Ok(Exit::Success)
}

/// The review for people.
fn text(review: &Review, is_short: bool, style: Style) -> String {
    let mut text = String::new();
    for file in &review.files {
        text.push_str(&style.bold(&head(file)));
        text.push('\n');
        if is_short {
            continue;
        }
        match &file.hunks {
            Some(hunks) => {
                for hunk in hunks {
                    let mut diff = format!("@@ line {} @@ {}\n", hunk.new_start.max(1), hunk.title);
                    diff.extend(hunk.lines.iter().flat_map(|line| [line.as_str(), "\n"]));
                    for line in coloured(&diff, usize::MAX, style) {
                        text.push_str(&line);
                        text.push('\n');
                    }
                }
            }
            None if file.submodule => text.push_str("(a submodule)\n"),
            None if file.added.is_none() => text.push_str("(binary)\n"),
            None => text.push_str("(too long; name the file to see it)\n"),
        }
    }
    let added: u64 = review.files.iter().filter_map(|file| file.added).sum();
    let removed: u64 = review.files.iter().filter_map(|file| file.removed).sum();
    let files = plural(review.files.len() as u64, "file");
    text.push_str(&style.faint(&format!("{files}, +{added} −{removed}")));
    text.push('\n');
    text
}

/// One line about a file.
fn head(file: &ReviewFile) -> String {
    let word = match file.status {
        ReviewStatus::Added => "new",
        ReviewStatus::Deleted => "deleted",
        ReviewStatus::Modified => "changed",
        ReviewStatus::Renamed => "renamed",
        ReviewStatus::Retyped => "other type",
    };
    let mut head = format!("{word} {}", clean(&file.path).replace('\n', "␊"));
    if let Some(old) = &file.old_path {
        head.push_str(&format!(" (was {})", clean(old).replace('\n', "␊")));
    }
    if let (Some(added), Some(removed)) = (file.added, file.removed) {
        head.push_str(&format!(" +{added} −{removed}"));
    }
    head
}

#[cfg(test)]
mod tests {
    use super::*;
    use weir_host::ReviewHunk;

    #[test]
    fn a_review_reads_like_a_diff_and_names_stay_in_their_line() {
        let file = |path: &str, hunks| ReviewFile {
            path: path.to_owned(),
            old_path: None,
            status: ReviewStatus::Modified,
            added: Some(1),
            removed: Some(1),
            submodule: false,
            unnameable: false,
            staged: false,
            seal: String::new(),
            hunks,
        };
        let hunk = ReviewHunk {
            old_start: 3,
            new_start: 3,
            title: "fn a()".to_owned(),
            lines: vec!["-one".to_owned(), "+two\u{1b}[2J".to_owned()],
        };
        let review = Review {
            top: "/p".to_owned(),
            branch: None,
            base: None,
            revision: None,
            files: vec![file("a", Some(vec![hunk])), file("b\nfake +9", None)],
        };
        let text = text(&review, false, Style::plain());
        assert_eq!(
            text,
            "changed a +1 −1\n@@ line 3 @@ fn a()\n-one\n+two␛[2J\nchanged b␊fake +9 +1 −1\n(too long; name the file to see it)\n2 files, +2 −2\n"
        );
    }
}
