//! The table as data: tags, their phrases, and how much a phrase says; and the reader of
//! `table/*.txt`.

/// How much a phrase says about its tag.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Grade {
    /// Added by the user: counts in every section.
    Sure,
    /// Hardly ever means anything else: decides alone.
    Strong,
    /// Decides in a name; in a description together with something else, or when nothing else is
    /// found.
    Normal,
    /// Ambiguous: supports others.
    Weak,
}

#[derive(Clone, Debug, Default)]
pub(super) struct TagRules {
    pub tag: String,
    /// An action (search, convert, …) is done to something: it does not tell the subject of the
    /// tool.
    pub action: bool,
    /// It is given in addition to the other tags and does not influence them.
    pub fine: bool,
    /// Tags that are added when the object of the action is not named.
    pub alone: Vec<String>,
    pub words: Vec<(String, Grade)>,
    /// Phrases that are not about this tag, although they contain a word of it ("docker image").
    pub stops: Vec<String>,
}

impl TagRules {
    pub fn new(tag: &str) -> Self {
        Self { tag: tag.to_owned(), ..Self::default() }
    }
}

#[derive(Clone, Debug, Default)]
pub(super) struct Table {
    pub tags: Vec<TagRules>,
    /// Phrases that say nothing about any tag.
    pub stops: Vec<String>,
    /// Words that name no subject ("tool", "results", 信息), so that a search for them is a search
    /// for anything.
    pub hollow: Vec<String>,
}

/// The builtin vocabulary. `common.txt` explains the notation.
pub(super) const BUILTIN: &[&str] = &[
    include_str!("table/common.txt"),
    include_str!("table/actions.txt"),
    include_str!("table/information.txt"),
    include_str!("table/work.txt"),
    include_str!("table/technology.txt"),
    include_str!("table/media.txt"),
    include_str!("table/life.txt"),
    include_str!("table/fine.txt"),
];

impl Table {
    /// Reads the notation that `table/common.txt` explains. Lines outside of it are skipped; a test
    /// holds the builtin table to it.
    pub fn parse(texts: &[&str]) -> Self {
        let mut table = Self::default();
        for line in texts.iter().flat_map(|text| text.lines()).map(str::trim) {
            if let Some(head) = line.strip_prefix('[') {
                table.section(head);
                continue;
            }
            let mut chars = line.chars();
            let kind = chars.next();
            let words = chars.as_str().split(',').map(str::trim).filter(|w| !w.is_empty()).map(str::to_owned);
            match (kind, table.tags.last_mut()) {
                (Some('+'), Some(rules)) => rules.words.extend(words.map(|w| (w, Grade::Strong))),
                (Some('='), Some(rules)) => rules.words.extend(words.map(|w| (w, Grade::Normal))),
                (Some('-'), Some(rules)) => rules.words.extend(words.map(|w| (w, Grade::Weak))),
                (Some('!'), Some(rules)) => rules.stops.extend(words),
                (Some('!'), None) => table.stops.extend(words),
                (Some('~'), _) => table.hollow.extend(words),
                _ => {}
            }
        }
        table
    }

    fn section(&mut self, head: &str) {
        let Some((tag, flags)) = head.split_once(']') else { return };
        let mut rules = TagRules::new(tag);
        for flag in flags.split_whitespace() {
            match flag.strip_prefix("alone:") {
                Some(tags) => rules.alone.extend(tags.split(',').map(str::to_owned)),
                None => {
                    rules.fine |= flag == "fine";
                    rules.action |= rules.fine || flag == "action";
                }
            }
        }
        self.tags.push(rules);
    }
}
