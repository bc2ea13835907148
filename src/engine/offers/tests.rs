//! The registry of native resources and prompts, with functions in Rust.

use super::*;
use serde_json::json;
use toolhub_types::error::{ErrorKind, Result};
use toolhub_types::model::{CheckOptions, Fitting, OfferChange, ToolIdentity, ToolOutput, ToolSpec};
use toolhub_types::tool::BoxFuture;

/// Answers with its own name and the arguments.
struct Echo {
    spec: ToolSpec,
    identity: ToolIdentity,
    is_slow: bool,
}

impl Tool for Echo {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn identity(&self) -> Option<&ToolIdentity> {
        Some(&self.identity)
    }

    fn check(&self, _: &Arguments, _: &CheckOptions<'_>) -> Result<Fitting<Arguments>> {
        Ok(Fitting::unchanged())
    }

    fn call<'a>(&'a self, args: &'a Arguments, ctx: &'a CallContext) -> BoxFuture<'a, Result<ToolOutput>> {
        Box::pin(async move {
            if self.is_slow {
                ctx.cancel.cancelled().await;
            }
            Ok(ToolOutput::new(json!(format!("{} {}", self.spec.name, args.as_value()))))
        })
    }
}

fn echo(name: &str, required: &[&str], optional: &[&str]) -> Echo {
    let properties: Map<String, Value> =
        required.iter().chain(optional).map(|one| ((*one).to_owned(), json!({"type": "string"}))).collect();
    let mut spec = ToolSpec::named(name);
    spec.parameters = Arc::new(json!({"type": "object", "properties": properties, "required": required}));
    // Every function of these tests is another object without a name.
    let object = spec.parameters.as_ref() as *const Value as usize;
    let identity =
        ToolIdentity { object, name: None, definition: object, parts: Vec::new(), code: "".into() };
    Echo { spec, identity, is_slow: false }
}

/// What is to be added.
struct TestOffer {
    kind: OfferKind,
    key: String,
    function: Echo,
    completions: Vec<(String, Suggestions)>,
    replace: bool,
}

fn offer(kind: OfferKind, key: &str, function: Echo) -> TestOffer {
    TestOffer { kind, key: key.to_owned(), function, completions: Vec::new(), replace: false }
}

fn add(offers: &NativeOffers, one: TestOffer) -> Result<()> {
    let entry = Map::from_iter([("name".to_owned(), json!(one.function.spec.name))]);
    let made = NativeOffer::new(one.kind, one.key, entry, Arc::new(one.function), one.completions)?;
    offers.add(made, one.replace)
}

fn resource(uri: &str, name: &str, required: &[&str]) -> TestOffer {
    offer(OfferKind::Resources, uri, echo(name, required, &[]))
}

async fn text(offers: &NativeOffers, uri: &str) -> Result<String> {
    let extras = CallContextExtras::default();
    let ctx = OfferCallContext { limit: Duration::from_secs(30), extras: &extras };
    let read = offers.answer(&OfferQuery::Read { uri: uri.to_owned() }, &ctx).await?;
    Ok(read["contents"][0]["text"].as_str().unwrap().to_owned())
}

#[tokio::test]
async fn the_most_specific_offer_answers() {
    let offers = NativeOffers::default();
    add(&offers, resource("x://{+path}", "any", &["path"])).unwrap();
    add(&offers, resource("x://notes/{id}", "note", &["id"])).unwrap();
    add(&offers, resource("x://notes/today", "today", &[])).unwrap();
    assert_eq!(text(&offers, "x://notes/today").await.unwrap(), "today {}");
    assert_eq!(text(&offers, "x://notes/7").await.unwrap(), r#"note {"id":"7"}"#);
    assert_eq!(text(&offers, "x://a/b").await.unwrap(), r#"any {"path":"a/b"}"#);
    assert_eq!(text(&offers, "y://a").await.unwrap_err().kind, ErrorKind::NotFound);
    assert_eq!(offers.entries(OfferKind::Resources), [json!({"uri": "x://notes/today", "name": "today"})]);
    assert_eq!(offers.entries(OfferKind::ResourceTemplates).len(), 2);
    assert!(offers.remove(OfferKind::Resources, "x://notes/{id}"));
    assert_eq!(text(&offers, "x://notes/7").await.unwrap(), r#"any {"path":"notes/7"}"#);
    assert!(!offers.remove(OfferKind::Prompts, "x://notes/today"));
}

#[test]
fn what_does_not_go_together_is_refused() {
    let prompt = |name: &str| offer(OfferKind::Prompts, name, echo(name, &["code"], &[]));
    let offers = NativeOffers::default();
    add(&offers, resource("x://one", "one", &[])).unwrap();
    add(&offers, prompt("review")).unwrap();
    let completed = |argument: &str| TestOffer {
        completions: vec![(argument.to_owned(), Suggestions::Values(Vec::new()))],
        ..prompt("other")
    };
    for (definition, message) in [
        (
            resource("x://one", "two", &[]),
            "A resource 'x://one' already exists; remove it first, or pass replace=True.",
        ),
        (prompt("review"), "A prompt 'review' already exists; remove it first, or pass replace=True."),
        (resource("one", "one", &[]), "'one' is not a URI: it needs a scheme, such as note://today."),
        (resource("x:", "one", &[]), "'x:' is not a URI: it needs a scheme, such as note://today."),
        (
            resource("x://\n", "one", &[]),
            "'x://\u{fffd}' cannot name a resource: it must have 1 to 8000 characters, and no control characters.",
        ),
        (
            resource("x://{a}{b}", "one", &["a", "b"]),
            "The template 'x://{a}{b}' cannot be used: two variables need text between them.",
        ),
        (
            resource("x://{id}", "one", &[]),
            "The function for 'x://{id}' has no parameter for the variable 'id'.",
        ),
        (
            resource("x://{id}", "one", &["id", "more"]),
            "The parameter 'more' of the function for 'x://{id}' needs a default, or a variable in the URI.",
        ),
        (
            resource("x://find{?q}", "one", &["q"]),
            "The parameter 'q' of the function for 'x://find{?q}' needs a default, or a variable in the URI.",
        ),
        (completed("file"), "'other' has no argument 'file' that could be completed."),
    ] {
        let refused = add(&offers, definition).unwrap_err();
        assert_eq!((refused.kind, refused.outcome), (ErrorKind::InvalidArguments, Outcome::NotSent));
        if !message.contains('\u{fffd}') {
            assert_eq!(refused.message, message);
        }
    }
    assert!(add(&offers, completed("code")).is_ok());
    let replaced = TestOffer { replace: true, ..resource("x://one", "two", &[]) };
    add(&offers, replaced).unwrap();
    assert_eq!(offers.entries(OfferKind::Resources), [json!({"uri": "x://one", "name": "two"})]);
}

#[test]
fn changes_are_announced() {
    let offers = NativeOffers::default();
    let mut changes = offers.signals.watch();
    add(&offers, resource("x://one", "one", &[])).unwrap();
    offers.updated("x://one").unwrap();
    assert_eq!(offers.updated("x://two").unwrap_err().kind, ErrorKind::NotFound);
    offers.remove(OfferKind::Resources, "x://one");
    let server: Arc<str> = Arc::from("native");
    let change = |what| OfferChange { what, server: server.clone(), caller: None };
    let list = change(ChangedOffer::List(OfferKind::Resources));
    assert_eq!(changes.try_recv(), Ok(list.clone()));
    assert_eq!(changes.try_recv(), Ok(change(ChangedOffer::Content(Arc::from("x://one")))));
    assert_eq!(changes.try_recv(), Ok(list));
}

#[tokio::test(start_paused = true)]
async fn a_function_that_takes_too_long_is_given_up() {
    let offers = NativeOffers::default();
    let slow = Echo { is_slow: true, ..echo("slow", &[], &[]) };
    add(&offers, offer(OfferKind::Resources, "x://slow", slow)).unwrap();
    let late = text(&offers, "x://slow").await.unwrap_err();
    assert_eq!(late.kind, ErrorKind::Timeout);
    assert_eq!(late.message, "The resource 'x://slow' did not answer within 30 s.");
}

#[tokio::test]
async fn prompts_check_their_arguments_and_complete_them() {
    let offers = NativeOffers::default();
    let mut review = offer(OfferKind::Prompts, "review", echo("review", &["language"], &["code"]));
    let function: Arc<dyn Tool> = Arc::new(echo("suggest", &["begun"], &["others"]));
    review.completions = vec![
        ("language".to_owned(), Suggestions::Values(vec!["Rust".to_owned(), "Python".to_owned()])),
        ("code".to_owned(), Suggestions::Function(function)),
    ];
    add(&offers, review).unwrap();
    let extras = CallContextExtras::default();
    let ctx = OfferCallContext { limit: Duration::from_secs(30), extras: &extras };
    let given = |value: Value| value.as_object().cloned().unwrap();
    let get = |arguments: Value| OfferQuery::Get { name: "review".to_owned(), arguments: given(arguments) };
    let made = offers.answer(&get(json!({"language": "Rust"})), &ctx).await.unwrap();
    assert_eq!(made["messages"][0]["content"]["text"], json!(r#"review {"language":"Rust"}"#));
    for wrong in [json!({}), json!({"language": 1})] {
        let refused = offers.answer(&get(wrong), &ctx).await.unwrap_err();
        assert_eq!(refused.kind, ErrorKind::InvalidArguments);
    }
    let begun = |name: &str| PartialArgument {
        name: name.to_owned(),
        value: "py".to_owned(),
        context: given(json!({"a": "b"})),
    };
    let complete = |argument: &str| OfferQuery::Complete {
        of: OfferKind::Prompts,
        key: "review".to_owned(),
        argument: begun(argument),
    };
    let known = offers.answer(&complete("language"), &ctx).await.unwrap();
    assert_eq!(known["completion"]["values"], json!(["Python"]));
    let none = offers.answer(&complete("else"), &ctx).await.unwrap();
    assert_eq!(none["completion"]["values"], json!([]));
    // A text is not a list of texts.
    let wrong = offers.answer(&complete("code"), &ctx).await.unwrap_err();
    assert_eq!(wrong.kind, ErrorKind::ToolError);
    assert_eq!(
        completing(&(Arc::new(echo("f", &["begun"], &["others"])) as Arc<dyn Tool>), &begun("code")),
        given(json!({"begun": "py", "others": {"a": "b"}}))
    );
}
