use super::*;
use proptest::prelude::*;
use serde_json::json;

fn value(text: &str) -> Value {
    parse(text.as_bytes()).unwrap().unwrap()
}

fn refused(text: &str) -> String {
    parse(text.as_bytes()).err().unwrap()
}

#[test]
fn comments_and_trailing_commas_go() {
    let text = "// first\n{ \"a\": [1, 2, /* three */], # \n";
    assert!(parse(text.as_bytes()).is_err(), "# does not start a comment in JSON");
    let text = "\u{feff}// first\r\n{ \"a\": [1, 2, /* , ] */ ], \"b\": {\"c\": null,},  // last\n}\n// end";
    assert_eq!(value(text), json!({"a": [1, 2], "b": {"c": null}}));
    assert_eq!(value("/**/{/***/}/* // */"), json!({}));
}

#[test]
fn strings_are_left_alone() {
    let text = r#"{"url": "https://x/*y*/", "b": "a\",]//", "c": ",}", "\\": "\\"}"#;
    assert_eq!(value(text), serde_json::from_str::<Value>(text).unwrap());
}

#[test]
fn an_empty_file_has_no_value() {
    for text in ["", " \n\t", "// nothing", "/* nothing */ \n", "\u{feff}"] {
        assert!(parse(text.as_bytes()).unwrap().is_none(), "{text:?}");
    }
}

#[test]
fn errors_point_into_the_file() {
    assert_eq!(refused("{\n  /* é\n */ \"a\" 1\n}"), "is not valid JSON: expected `:` at line 3 column 9.");
    assert_eq!(
        refused("{\"a\": 1,\n  /* never ends"),
        "is not valid JSON: the comment at line 2 column 3 has no end."
    );
    assert_eq!(refused("{} {}"), "is not valid JSON: trailing characters at line 1 column 4.");
    assert_eq!(parse(b"{\"a\": \"\xff\"}").err().unwrap(), "is not UTF-8 text; save it as UTF-8.");
    for text in ["[,]", "{,}", "[1,,]", "{\"a\":,}", "[1 2,]", "{\"a\": \"open", "\"a\\"] {
        assert!(parse(text.as_bytes()).is_err(), "{text}");
    }
}

#[test]
fn deep_nesting_is_an_error_not_a_crash() {
    for (open, close) in [("[", "]"), ("{\"a\":", "}"), ("[{\"a\":", "}]")] {
        let deep = format!("{}1{}", open.repeat(10_000), close.repeat(10_000));
        assert!(refused(&deep).contains("recursion limit exceeded"), "{}", refused(&deep));
    }
    let long = format!("{}1{}", "/*[*/".repeat(100_000), "//]".repeat(100_000));
    assert_eq!(value(&long), json!(1));
}

fn json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (-1e9f64..1e9).prop_map(Value::from),
        r#"[a-z/*,"\\\]}é\n ]{0,8}"#.prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(r#"[a-z/*,"}]{0,4}"#, inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

/// Space and comments that may stand between any two tokens.
fn gap() -> impl Strategy<Value = String> {
    prop_oneof![
        Just(String::new()),
        Just("\r\n\t".to_owned()),
        r#"//[a-z"*/,\]}é ]{0,6}"#.prop_map(|comment| format!("{comment}\n")),
        r#"[a-z",\]}é\n ]{0,6}"#.prop_map(|inside| format!("/*{inside}*/")),
    ]
}

/// The value as text, with the gaps in turn around each token and a trailing comma where one may be.
fn commented(value: &Value, gaps: &mut impl Iterator<Item = String>, out: &mut String) {
    out.extend(gaps.next());
    match value {
        Value::Array(items) => {
            out.push('[');
            for item in items {
                commented(item, gaps, out);
                out.push(',');
            }
            out.extend(gaps.next());
            out.push(']');
        }
        Value::Object(object) => {
            out.push('{');
            for (key, item) in object {
                out.extend(gaps.next());
                out.push_str(&Value::from(key.as_str()).to_string());
                out.extend(gaps.next());
                out.push(':');
                commented(item, gaps, out);
                out.push(',');
            }
            out.extend(gaps.next());
            out.push('}');
        }
        leaf => out.push_str(&leaf.to_string()),
    }
    out.extend(gaps.next());
}

proptest! {
    #[test]
    fn a_commented_value_is_the_same_value(value in json(), gaps in prop::collection::vec(gap(), 1..12)) {
        let mut text = String::new();
        commented(&value, &mut gaps.into_iter().cycle(), &mut text);
        let parsed = parse(text.as_bytes());
        prop_assert!(parsed.is_ok(), "{text}: {:?}", parsed.err());
        prop_assert_eq!(parsed.ok().flatten(), Some(value), "{}", text);
    }

    #[test]
    fn plain_json_is_read_as_serde_json_reads_it(value in json()) {
        let text = value.to_string();
        let parsed = parse(text.as_bytes()).ok().flatten();
        prop_assert_eq!(parsed, serde_json::from_str::<Value>(&text).ok());
    }

    #[test]
    fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..200), odd in r#"[{}\[\]",:/*\\ 1\n]{0,80}"#) {
        let _ = parse(&bytes);
        let _ = parse(odd.as_bytes());
        if let Ok(plain) = strip(&bytes) {
            prop_assert_eq!(plain.len(), bytes.len());
        }
    }
}
