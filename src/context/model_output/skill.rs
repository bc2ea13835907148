//! The answer of a skill, between the tags that the Agent Skills format recommends.

use serde_json::Value;

/// A skill's instructions, and what surrounds them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkillBlock {
    begin: String,
    pub instructions: String,
    end: String,
}

impl SkillBlock {
    /// `None` for a value that holds no instructions.
    pub fn of(value: &Value) -> Option<Self> {
        let text = |key: &str| {
            value.get(key).map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_owned))
        };
        // Neither the instructions nor a file name may close the block that contains them.
        let instructions = text("instructions")?.replace("</skill_content", "&lt;/skill_content");
        let paths = value.get("resources").and_then(Value::as_array).into_iter().flatten();
        let files: Vec<String> = paths
            .filter_map(Value::as_str)
            .map(|path| format!("  <file>{}</file>", path.replace('<', "&lt;")))
            .collect();
        let is_cut = value.get("resources_cut").and_then(Value::as_bool).unwrap_or(false);
        let more = if is_cut { "\n  (there are more)" } else { "" };
        let resources = match files.is_empty() {
            true => String::new(),
            false => format!("\n<skill_resources>\n{}{more}\n</skill_resources>", files.join("\n")),
        };
        let begin = format!("<skill_content name=\"{}\">\n", text("name").unwrap_or_default());
        let task = text("task").filter(|task| !task.is_empty() && task != "null");
        let task =
            task.map(|task| format!("\n\nTask: {}", task.replace("</skill_content", "&lt;/skill_content")));
        let end = format!(
            "{}\n\nSkill directory: {}\nRelative paths in this skill are relative to the skill directory; to read a file, \
             call the skill with `file`.{resources}\n</skill_content>",
            task.unwrap_or_default(),
            text("folder").unwrap_or_default()
        );
        Some(SkillBlock { begin, instructions, end })
    }

    /// The whole block with these instructions.
    pub fn with(&self, instructions: &str) -> String {
        format!("{}{instructions}{}", self.begin, self.end)
    }

    /// How many characters instructions may have in this room; `None` if less than half of it is left for them.
    pub fn room(&self, room: usize) -> Option<usize> {
        let left = room.checked_sub(self.begin.chars().count() + self.end.chars().count())?;
        (left >= room / 2).then_some(left)
    }
}
