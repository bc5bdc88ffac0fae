//! Stop words.

use std::collections::HashSet;
use std::sync::LazyLock;

/// Snowball's list for English (snowballstem.org/algorithms/english/stop.txt).
const ENGLISH: &str = "a about above after again against all am an and any are as at be because been before being below between both \
    but by cannot could did do does doing down during each few for from further had has have having he her here hers \
    herself him himself his how i if in into is it its itself me more most my myself no nor not of off on once only \
    or other ought our ours ourselves out over own same she should so some such than that the their theirs them \
    themselves then there these they this those through to too under until up very was we were what when where which \
    while who whom why with would you your yours yourself yourselves aren't can't couldn't didn't doesn't don't \
    hadn't hasn't haven't he'd he'll he's here's how's i'd i'll i'm i've isn't it's let's mustn't shan't she'd \
    she'll she's shouldn't that's there's they'd they'll they're they've wasn't we'd we'll we're we've weren't \
    what's when's where's who's why's won't wouldn't you'd you'll you're you've";

static WORDS: LazyLock<HashSet<&str>> = LazyLock::new(|| ENGLISH.split(' ').collect());

/// Returns whether a word in lower case is an English stop word.
pub(crate) fn is_stop_word(word: &str) -> bool {
    WORDS.contains(word)
}
