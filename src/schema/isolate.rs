//! A schema that cannot be compiled although nothing in it was found to be broken: what can be compiled by itself is kept.

use crate::model::Unchecked;
use serde_json::{Map, Value};

/// More parts than this are not compiled one by one.
const MOST: usize = 500;
/// What other parts may refer to.
const SHARED: [&str; 4] = ["$schema", "$id", "$defs", "definitions"];
const REASON: &str = "it cannot be compiled";

/// The keywords and properties of the schema that compile, and those that do not. `None` if there are too many.
pub fn isolated(schema: &Value, compiles: &dyn Fn(&Value) -> bool) -> Option<(Value, Vec<Unchecked>)> {
    let map = schema.as_object()?;
    let properties = map.get("properties").and_then(Value::as_object);
    if map.len() + properties.map_or(0, Map::len) > MOST {
        return None;
    }
    let (mut kept, mut unchecked) = (Map::new(), Vec::new());
    let mut skip = |place: String| unchecked.push(Unchecked { place: place.into(), reason: REASON });
    let shared = SHARED.iter().filter_map(|keyword| Some((*keyword, map.get(*keyword)?)));
    for (keyword, value) in shared {
        let with = with(&kept, keyword, value.clone());
        if compiles(&Value::Object(with.clone())) {
            kept = with;
        } else {
            skip(format!("/{keyword}"));
        }
    }
    let base = kept.clone();
    for (keyword, value) in map.iter().filter(|(keyword, _)| !SHARED.contains(&keyword.as_str())) {
        let value = match (keyword.as_str(), properties) {
            ("properties", Some(properties)) => {
                let fits = |(name, property): &(&String, &Value)| {
                    let alone = Map::from_iter([((*name).clone(), (*property).clone())]);
                    compiles(&Value::Object(with(&base, "properties", Value::Object(alone))))
                };
                let (good, bad): (Vec<_>, Vec<_>) = properties.iter().partition(fits);
                bad.iter().for_each(|(name, _)| {
                    skip(format!("/properties/{}", name.replace('~', "~0").replace('/', "~1")));
                });
                Value::Object(good.into_iter().map(|(name, value)| (name.clone(), value.clone())).collect())
            }
            _ if compiles(&Value::Object(with(&base, keyword, value.clone()))) => value.clone(),
            _ => {
                skip(format!("/{}", keyword.replace('~', "~0").replace('/', "~1")));
                continue;
            }
        };
        kept.insert(keyword.clone(), value);
    }
    // A property that is not described here any more may still be given.
    if !unchecked.is_empty() {
        for keyword in ["additionalProperties", "unevaluatedProperties"] {
            kept.shift_remove(keyword);
        }
    }
    Some((Value::Object(kept), unchecked))
}

fn with(base: &Map<String, Value>, keyword: &str, value: Value) -> Map<String, Value> {
    let mut map = base.clone();
    map.insert(keyword.to_owned(), value);
    map
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_compiles_by_itself_is_kept() {
        let schema = json!({
            "$defs": {"n": {}}, "type": "object", "broken": 1, "required": ["a"], "additionalProperties": false,
            "properties": {"a": {"type": "integer"}, "b/c": {"broken": 1}},
        });
        let compiles = |small: &Value| !small.to_string().contains("broken");
        let (rest, unchecked) = isolated(&schema, &compiles).unwrap();
        let expected = json!({"$defs": {"n": {}}, "type": "object", "required": ["a"],
                              "properties": {"a": {"type": "integer"}}});
        assert_eq!(rest, expected);
        let places: Vec<&str> = unchecked.iter().map(|one| &*one.place).collect();
        assert_eq!(places, ["/broken", "/properties/b~1c"]);
        let many: Map<String, Value> = (0..=MOST).map(|n| (n.to_string(), json!(1))).collect();
        assert!(isolated(&Value::Object(many), &compiles).is_none());
    }
}
