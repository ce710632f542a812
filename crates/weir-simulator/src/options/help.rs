//! The text of `--help`.

use super::flags::FLAGS;
use crate::profile::Profile;

/// All flags of this version, one or two lines each.
pub(crate) fn help(profile: &Profile) -> String {
    let mut text = String::from(
        "Usage: claude [options] [prompt]\n\nThe simulated Claude Code: it speaks the protocol of the real one, asks no model and costs nothing.\n\n\
         Arguments:\n  prompt                                Your prompt\n\nOptions:\n",
    );
    for flag in FLAGS.iter().filter(|flag| !flag.newer || !profile.is_old()) {
        let shown = flag.shown();
        if shown.len() <= 36 {
            text.push_str(&format!("  {shown:<36}  {}\n", flag.about));
        } else {
            text.push_str(&format!("  {shown}\n      {}\n", flag.about));
        }
    }
    text
}
