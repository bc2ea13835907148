//! L0, sentences as values: what the hub itself says to callers and models, in the language of the hub.
//!
//! A [`Message`] is a template, which is the English sentence with `{}` for each argument, and its arguments. The template is
//! also the id of the sentence: [`Message::text`] finds its Chinese in one table by it, and never looks at a finished text.
//! Words of tools, servers and the system are messages without a template and stay as they are.

use super::wording::row_of;
use serde::{Serialize, Serializer};
use std::borrow::Cow;
use std::fmt::{self, Display, Write as _};
use std::ops::{Deref, Range};

/// The language of what the hub says to callers and models.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Lang {
    #[default]
    En,
    Zh,
}

impl Lang {
    pub fn name(self) -> &'static str {
        self.pick("en", "zh")
    }

    pub fn pick<'a>(self, en: &'a str, zh: &'a str) -> &'a str {
        match self {
            Lang::En => en,
            Lang::Zh => zh,
        }
    }
}

/// What stands between the messages of a list.
#[derive(Clone, Copy, Debug)]
pub enum Join {
    Semicolons,
    Commas,
    Or,
}

impl Join {
    fn text(self, lang: Lang) -> &'static str {
        match self {
            Join::Semicolons => lang.pick("; ", "；"),
            Join::Commas => lang.pick(", ", "，"),
            Join::Or => lang.pick(" or ", " 或 "),
        }
    }
}

/// A sentence of the hub, or the words of somebody else. As a `str` and for [`Display`] it is English; two messages are
/// equal if their English is.
#[derive(Clone, Debug)]
pub struct Message(MessageForm);

#[derive(Clone, Debug)]
enum MessageForm {
    /// A sentence without arguments, which is its own template, or foreign words.
    Plain(Cow<'static, str>),
    Filled(Box<Filled>),
    MessageList(Box<MessageList>),
    /// A sentence without its full stop.
    Clause(Box<Message>),
}

#[derive(Clone, Debug)]
struct Filled {
    template: &'static str,
    text: String,
    arguments: Vec<Argument>,
}

#[derive(Clone, Debug)]
enum Argument {
    /// Where it is in the English text.
    Text(Range<usize>),
    Message(Message),
}

#[derive(Clone, Debug)]
struct MessageList {
    join: Join,
    text: String,
    messages: Vec<Message>,
}

impl Message {
    /// Messages as one, such as the faults of several arguments.
    pub fn list(messages: Vec<Message>, join: Join) -> Self {
        let text = messages.iter().map(AsRef::as_ref).collect::<Vec<&str>>().join(join.text(Lang::En));
        Message(MessageForm::MessageList(Box::new(MessageList { join, text, messages })))
    }

    /// The sentence without its full stop, as a part of another one.
    pub fn clause(&self) -> Self {
        Message(MessageForm::Clause(Box::new(self.clone())))
    }

    /// In English.
    pub fn into_owned(self) -> String {
        match self.0 {
            MessageForm::Plain(text) => text.into_owned(),
            MessageForm::Filled(filled) => filled.text,
            MessageForm::MessageList(list) => list.text,
            MessageForm::Clause(_) => self.to_string(),
        }
    }

    pub fn text(&self, lang: Lang) -> Cow<'_, str> {
        match lang {
            Lang::En => Cow::Borrowed(self),
            Lang::Zh => self.chinese(),
        }
    }

    fn chinese(&self) -> Cow<'_, str> {
        let joined = |messages: &[Message], join: Join| {
            messages.iter().map(|one| one.chinese()).collect::<Vec<_>>().join(join.text(Lang::Zh))
        };
        match &self.0 {
            MessageForm::Plain(text) => in_table(text),
            MessageForm::Filled(filled) => filled.chinese().into(),
            MessageForm::MessageList(list) => joined(&list.messages, list.join).into(),
            MessageForm::Clause(sentence) => match &sentence.0 {
                MessageForm::Plain(Cow::Owned(text)) => in_table(text.trim_end_matches('.')),
                _ => sentence.chinese().trim_end_matches(['。', '.']).to_owned().into(),
            },
        }
    }

    /// The message with other text in the place of each argument and of foreign words, to hide what nobody may see.
    pub fn map(&self, change: &dyn Fn(&str) -> String) -> Self {
        match &self.0 {
            MessageForm::Plain(Cow::Borrowed(_)) => self.clone(),
            MessageForm::Plain(text) => change(text).into(),
            MessageForm::Filled(filled) => {
                let mut filling = Filling::new(filled.template);
                for argument in &filled.arguments {
                    match argument {
                        Argument::Text(place) => filling.add_text(&change(&filled.text[place.clone()])),
                        Argument::Message(message) => filling.add_message(&message.map(change)),
                    }
                }
                filling.end()
            }
            MessageForm::MessageList(list) => {
                Message::list(list.messages.iter().map(|one| one.map(change)).collect(), list.join)
            }
            MessageForm::Clause(sentence) => sentence.map(change).clause(),
        }
    }
}

/// A text in Chinese if it is a sentence of the table without arguments.
fn in_table(text: &str) -> Cow<'_, str> {
    row_of(text).map_or(text, |(_, chinese)| chinese).into()
}

impl Filled {
    fn chinese(&self) -> String {
        let mut text = String::with_capacity(self.text.len());
        let Some((english, mut rest)) = row_of(self.template) else { return self.text.clone() };
        // Where sentences of rooms that write text are expected, they are looked up.
        let sentences: Vec<bool> = english.split('{').skip(1).map(|after| !after.starts_with('}')).collect();
        while let Some((before, after)) = rest.split_once('{') {
            let (number, after) = after.split_once('}').unwrap_or((after, ""));
            text.push_str(before);
            let at = number.parse().unwrap_or(usize::MAX);
            match self.arguments.get(at) {
                Some(Argument::Text(place)) => {
                    let given = &self.text[place.clone()];
                    let is_sentence = sentences.get(at) == Some(&true);
                    text.push_str(&if is_sentence { in_table(given) } else { given.into() });
                }
                Some(Argument::Message(message)) => text.push_str(&message.chinese()),
                None => {}
            }
            rest = after;
        }
        text.push_str(rest);
        text
    }
}

impl Deref for Message {
    type Target = str;

    fn deref(&self) -> &str {
        match &self.0 {
            MessageForm::Plain(text) => text,
            MessageForm::Filled(filled) => &filled.text,
            MessageForm::MessageList(list) => &list.text,
            MessageForm::Clause(sentence) => sentence.trim_end_matches('.'),
        }
    }
}

impl Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self)
    }
}

impl Serialize for Message {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self)
    }
}

impl AsRef<str> for Message {
    fn as_ref(&self) -> &str {
        self
    }
}

impl<T: AsRef<str> + ?Sized> PartialEq<T> for Message {
    fn eq(&self, other: &T) -> bool {
        **self == *other.as_ref()
    }
}

impl Eq for Message {}

/// A sentence without arguments.
impl From<&'static str> for Message {
    fn from(template: &'static str) -> Self {
        Message(MessageForm::Plain(template.into()))
    }
}

/// Foreign words.
impl From<String> for Message {
    fn from(text: String) -> Self {
        Message(MessageForm::Plain(text.into()))
    }
}

impl From<Cow<'static, str>> for Message {
    fn from(text: Cow<'static, str>) -> Self {
        Message(MessageForm::Plain(text))
    }
}

impl From<Message> for Cow<'static, str> {
    fn from(message: Message) -> Self {
        match message.0 {
            MessageForm::Plain(text) => text,
            _ => message.into_owned().into(),
        }
    }
}

/// What has a message, so that it stays one as an argument of another.
pub trait AsMessage {
    fn as_message(&self) -> &Message;
}

impl AsMessage for Message {
    fn as_message(&self) -> &Message {
        self
    }
}

impl<T: AsMessage + ?Sized> AsMessage for &T {
    fn as_message(&self) -> &Message {
        (**self).as_message()
    }
}

/// A message of the hub: a template, which must have a row in the table of Chinese, and one argument for each `{}` of it.
/// What has a message ([`AsMessage`]) stays one, anything else is shown as text.
#[macro_export]
macro_rules! message {
    ($template:literal $(,)?) => { $crate::message::Message::from($template) };
    ($template:literal, $($argument:expr),+ $(,)?) => {{
        use $crate::message::{Filling, Given, Place as _};
        const { assert!(Filling::has_places($template, [$(stringify!($argument)),+].len())) };
        let mut filling = Filling::new($template);
        $((&Given(&$argument)).add_to(&mut filling);)+
        filling.end()
    }};
}

/// A message in the making, for [`message!`] and for sentences of Python.
pub struct Filling {
    rest: &'static str,
    filled: Filled,
}

impl Filling {
    pub fn new(template: &'static str) -> Self {
        let text = String::with_capacity(template.len() + 32);
        Filling { rest: template, filled: Filled { template, text, arguments: Vec::new() } }
    }

    /// Whether a template has so many places for arguments.
    pub const fn has_places(template: &str, wanted: usize) -> bool {
        let (bytes, mut at, mut found) = (template.as_bytes(), 0, 0);
        while at < bytes.len() {
            if bytes[at] == b'{' {
                if at + 1 >= bytes.len() || bytes[at + 1] != b'}' {
                    return false;
                }
                found += 1;
            }
            at += 1;
        }
        found == wanted
    }

    fn add_literal(&mut self) {
        let (literal, rest) = self.rest.split_once("{}").unwrap_or((self.rest, ""));
        self.filled.text.push_str(literal);
        self.rest = rest;
    }

    pub fn add_text(&mut self, argument: &dyn Display) {
        self.add_literal();
        let start = self.filled.text.len();
        // Writing to a string fails only if the argument refuses to be shown.
        let _ = write!(self.filled.text, "{argument}");
        self.filled.arguments.push(Argument::Text(start..self.filled.text.len()));
    }

    pub fn add_message(&mut self, argument: &Message) {
        self.add_literal();
        self.filled.text.push_str(argument);
        self.filled.arguments.push(Argument::Message(argument.clone()));
    }

    pub fn end(mut self) -> Message {
        self.filled.text.push_str(self.rest);
        Message(MessageForm::Filled(Box::new(self.filled)))
    }
}

/// An argument of [`message!`]. Method lookup tries `Given` before `&Given`, so what has a message is added as one.
pub struct Given<'a, T: ?Sized>(pub &'a T);

pub trait Place {
    fn add_to(&self, filling: &mut Filling);
}

impl<T: AsMessage + ?Sized> Place for Given<'_, T> {
    fn add_to(&self, filling: &mut Filling) {
        filling.add_message(self.0.as_message());
    }
}

impl<T: Display + ?Sized> Place for &Given<'_, T> {
    fn add_to(&self, filling: &mut Filling) {
        filling.add_text(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_message_in_a_message_is_translated_and_text_is_not() {
        let name = "none".to_owned();
        let text = message!("Tool '{}' raised {}: {}", name, "none", "Cancelled.");
        assert_eq!(text, "Tool 'none' raised none: Cancelled.");
        assert_eq!(text.text(Lang::Zh), "工具 'none' 抛出 none：Cancelled.");
        let told = message!("Tool '{}' failed: {}", &name, &message!("Cancelled."));
        assert_eq!(told.text(Lang::Zh), "工具 'none' 失败：已取消。");
        let list = Message::list(vec![message!("a list"), message!("a text")], Join::Or);
        assert_eq!((&*list, &*list.text(Lang::Zh)), ("a list or a text", "列表 或 文本"));
        assert_eq!(message!("Cancelled.").clause().text(Lang::Zh), "已取消");
    }

    #[test]
    fn a_mapped_message_is_the_same_sentence() {
        let told = message!("Tool '{}' failed: {}", "key", Message::from("key".to_owned()));
        let hidden = told.map(&|text| text.replace("key", "***"));
        assert_eq!(hidden, "Tool '***' failed: ***");
        assert_eq!(hidden.text(Lang::Zh), "工具 '***' 失败：***");
    }

    proptest! {
        #[test]
        fn arguments_come_through_unchanged(name in "\\PC{0,20}", word in "\\PC{0,20}", inner in "\\PC{0,20}") {
            let told = message!("Tool '{}' raised {}: {}", name, word, Message::from(inner.clone()));
            prop_assert_eq!(&*told, &format!("Tool '{name}' raised {word}: {inner}"));
            prop_assert_eq!(told.text(Lang::Zh), format!("工具 '{name}' 抛出 {word}：{inner}"));
        }
    }
}
