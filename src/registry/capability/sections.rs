//! The section of a word in a description, which decides its weight.
//!
//! "Get BBC news, covering business, health and games" is a news tool: what follows the first
//! comma, or a word such as "including", only elaborates. The tracker is fed word by word and keeps
//! the section.

/// Parts of a tool's texts, in order of weight.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Section {
    /// The tool's name.
    Name,
    /// The first clause of the description.
    Lead,
    /// The rest of its first sentence, and text in brackets.
    Rest,
    /// Later sentences.
    Tail,
}

/// Words that begin an elaboration.
const ELABORATING: &str = "allowing based because by containing enabling featuring if including includes like providing \
    requires so such supporting supports that using via when where whether which with without";
const ELABORATING_WIDE: &[&str] =
    &["包括", "包含", "支持", "例如", "比如", "涵盖", "以及其", "帮助", "以便", "以确保", "适用于", "用于在"];
/// A sentence that begins like this gives the circumstances first, and the purpose of the tool after the comma.
const CIRCUMSTANCE: &str = "given using based when if for after before with in";
const CIRCUMSTANCE_WIDE: &[&str] =
    &["根据", "基于", "通过", "使用", "利用", "当", "为了", "在", "对于", "如果", "针对", "按照"];
/// Words without a subject: "Use this tool when you need to …" has not begun yet.
const HOLLOW: &str =
    "a an and call can function is it must need should the this to tool use used useful user wants you";
/// A Chinese text is not divided before this many bytes (four characters).
const UNDIVIDED_BYTES: usize = 12;
/// Headings of parameter lists, where the description proper ends.
const HEADINGS: &str = "arg args argument arguments example examples input inputs output outputs param parameter parameters \
    params return returns usage";
const HEADINGS_WIDE: &[&str] =
    &["参数", "返回", "示例", "返回值", "入参", "出参", "输入", "输出", "用法", "举例"];

/// Follows a text and knows the section at each point. A name has one.
pub(super) struct SectionTracker<'a> {
    section: Section,
    /// Open brackets.
    depth: u32,
    /// Words so far, and those of them that say something (counted up to 2).
    words: u32,
    content: u32,
    circumstance: bool,
    /// The word or run just passed, when it may be a heading.
    last: &'a str,
    /// The last character was `:` or `@`, as before `param` in docstrings.
    sigil: bool,
    over: bool,
}

fn is_one_of(word: &str, list: &str) -> bool {
    list.split(' ').any(|known| known.eq_ignore_ascii_case(word))
}

impl<'a> SectionTracker<'a> {
    pub fn new(section: Section) -> Self {
        let (words, content, last) = (0, 0, "");
        Self { section, depth: 0, words, content, circumstance: false, last, sigil: false, over: false }
    }

    pub fn section(&self) -> Section {
        match self.section {
            Section::Lead if self.depth > 0 => Section::Rest,
            section => section,
        }
    }

    /// Whether the rest of the text is a list of parameters.
    pub fn is_over(&self) -> bool {
        self.over && self.section != Section::Name
    }

    pub fn word(&mut self, word: &'a str) {
        self.over |= self.sigil && is_one_of(word, HEADINGS);
        self.sigil = false;
        self.last = word;
        if self.section == Section::Lead {
            if self.words == 0 {
                self.circumstance = is_one_of(word, CIRCUMSTANCE);
            }
            if self.content < 2 {
                self.content += u32::from(!is_one_of(word, HOLLOW) && !is_one_of(word, ELABORATING));
            } else if !self.circumstance && is_one_of(word, ELABORATING) {
                self.section = Section::Rest;
            }
        }
        self.words += 1;
    }

    /// Reads a run of Chinese; returns the offset where the current section begins.
    pub fn wide(&mut self, run: &'a str) -> usize {
        let first = self.words == 0;
        self.sigil = false;
        self.last = run;
        self.words += 1;
        self.content = 2;
        if self.section != Section::Lead {
            return 0;
        }
        if first {
            self.circumstance = CIRCUMSTANCE_WIDE.iter().any(|c| run.starts_with(c));
        }
        // The very first words are what the tool is about, whatever they are.
        let from = if first { run.floor_char_boundary(UNDIVIDED_BYTES) } else { 0 };
        match ELABORATING_WIDE.iter().filter_map(|w| run[from..].find(w)).min() {
            Some(at) => {
                self.section = Section::Rest;
                from + at
            }
            None => run.len(),
        }
    }

    pub fn punctuation(&mut self, c: char, after: Option<char>) {
        self.sigil = matches!(c, ':' | '@');
        match c {
            '(' | '（' => self.depth += 1,
            ')' | '）' => self.depth = self.depth.saturating_sub(1),
            ':' | '：' if self.words > 1 && self.is_heading() => self.over = true,
            ',' | '，' | ';' | '；' | ':' | '：' | '—' | '–' if self.section == Section::Lead => {
                self.clause(c)
            }
            '。' | '！' | '？' => self.sentence(),
            '.' | '!' | '?' if after.is_none_or(char::is_whitespace) => self.sentence(),
            '\n' if !after.is_some_and(|a| a.is_ascii_lowercase() || a == ' ') => self.sentence(),
            _ => {}
        }
        if !c.is_whitespace() && !matches!(c, '(' | ')' | '（' | '）') {
            self.last = "";
        }
    }

    fn is_heading(&self) -> bool {
        is_one_of(self.last, HEADINGS) || HEADINGS_WIDE.iter().any(|h| self.last.ends_with(h))
    }

    fn clause(&mut self, c: char) {
        // "Note: …", "MCP 工具：…": a label, and the sentence only begins after it.
        let is_label = matches!(c, ':' | '：') && self.words < 4;
        if self.circumstance {
            self.circumstance = false;
        } else if self.words > 0 && !is_label {
            self.section = Section::Rest;
        }
    }

    fn sentence(&mut self) {
        // A title of one word ("Search.") is not a sentence yet.
        if self.words >= 2 && self.section != Section::Name {
            self.section = Section::Tail;
        }
    }
}
