//! What makes two registrations the same tool, and what a tool runs with.

use std::fmt;
use std::sync::Arc;

/// Where a tool of the program comes from. The numbers are addresses of objects that the tool keeps alive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolIdentity {
    /// The registered object.
    pub object: usize,
    /// The qualified name of what defines it; `None` for what has no name, such as a lambda.
    pub name: Option<Arc<str>>,
    /// The definition itself: the code of a function, the class of an object.
    pub definition: usize,
    /// What tells apart things that one definition has made: values in a closure, defaults, the object of a method.
    pub parts: Vec<usize>,
    /// A digest of what runs: the code, and the plain values that it was made with. Equal in another process of the same Python.
    pub code: Arc<str>,
}

/// Something that a tool runs with and that nobody is shown: code, or a value that may be secret.
#[derive(Clone, PartialEq, Eq)]
pub struct BoundValue {
    /// What people know it by; `None` for code, which is known by the tool.
    pub name: Option<String>,
    pub parts: Vec<String>,
}

impl fmt::Debug for BoundValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BoundValue").field("name", &self.name).finish_non_exhaustive()
    }
}

impl ToolIdentity {
    /// The same object, or a new definition under the same qualified name: the cell of a notebook that was run again, a module
    /// that was reloaded. Two things that one definition has made, such as two instances of a class, are not the same.
    pub fn is_same(&self, other: &ToolIdentity) -> bool {
        let is_redefined = self.definition != other.definition || self.parts == other.parts;
        self.object == other.object || (self.name.is_some() && self.name == other.name && is_redefined)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_definition_of_a_name_is_the_same_tool_and_another_product_of_one_definition_is_not() {
        let tool = |object, name: Option<&str>, definition, parts: &[usize]| ToolIdentity {
            object,
            name: name.map(Arc::from),
            definition,
            parts: parts.to_vec(),
            code: "".into(),
        };
        let first = tool(1, Some("app.search"), 10, &[5]);
        assert!(first.is_same(&tool(1, None, 0, &[])), "the same object");
        assert!(first.is_same(&tool(2, Some("app.search"), 11, &[6])), "defined again");
        assert!(first.is_same(&tool(2, Some("app.search"), 10, &[5])), "made again from the same values");
        assert!(!first.is_same(&tool(2, Some("app.search"), 10, &[6])), "made from other values");
        assert!(!first.is_same(&tool(2, Some("app.find"), 11, &[5])));
        assert!(!tool(1, None, 10, &[]).is_same(&tool(2, None, 11, &[])), "lambdas have no name");
    }
}
