//! A Python callable as a tool.

use crate::drivers::served_call;
use crate::values::arguments::callable::Callable;
use pyo3::gc::{PyTraverseError, PyVisit};
use std::any::Any;
use std::sync::Arc;
use toolhub::error::{ErrorKind, HubError, clip};
use toolhub::message;
use toolhub::model::{
    Arguments, BoundValue, CheckOptions, Fitting, ToolIdentity, ToolOutput, ToolSpec, Unchecked,
};
use toolhub::offers::NativeOffer;
use toolhub::registry::Candidate;
use toolhub::tool::{BoxFuture, CallContext, Tool};

/// A tool of the core whose work is done in Python.
pub struct PythonTool(pub Arc<Callable>);

impl Tool for PythonTool {
    fn spec(&self) -> &ToolSpec {
        &self.0.spec
    }

    fn identity(&self) -> Option<&ToolIdentity> {
        Some(&self.0.identity)
    }

    fn bound(&self) -> Vec<BoundValue> {
        vec![BoundValue { name: None, parts: vec![self.0.identity.code.to_string()] }]
    }

    fn check(&self, args: &Arguments, options: &CheckOptions<'_>) -> Result<Fitting<Arguments>, HubError> {
        match &self.0.arguments.schema {
            // Rich types are built when the call starts, where the interpreter is.
            Some(schema) => schema.check(&self.0.spec.name, args, options),
            None => Ok(Fitting::unchanged()),
        }
    }

    fn unchecked(&self) -> &[Unchecked] {
        self.0.arguments.schema.as_ref().map_or(&[], |schema| schema.unchecked())
    }

    /// The function begins when its event loop or a thread of the pool comes to it.
    fn marks_sent(&self) -> bool {
        true
    }

    /// Callers in Python have drivers of their own ([`crate::drivers::execution`]). A driver on tokio sends the call to the loop of the
    /// program that serves the hub; without one it gets an error at once.
    fn call<'a>(
        &'a self,
        args: &'a Arguments,
        ctx: &'a CallContext,
    ) -> BoxFuture<'a, Result<ToolOutput, HubError>> {
        let Some(place) = self.0.served_on.current() else {
            let text = message!(
                "Tool '{}' lives in Python and can only be called from Python.",
                clip(&self.0.spec.name)
            );
            return Box::pin(std::future::ready(Err(HubError::new(ErrorKind::NotAllowed, text))));
        };
        Box::pin(served_call::call(place, self.0.clone(), args, ctx))
    }
}

/// The candidate's tool, when it is a Python one.
pub fn python_tool(candidate: &Candidate) -> Option<&Arc<Callable>> {
    let tool: Option<&PythonTool> = (&*candidate.tool as &dyn Any).downcast_ref();
    tool.map(|tool| &tool.0)
}

/// Shows the functions of a resource or a prompt to the garbage collector.
pub fn traverse_offer(offer: &NativeOffer, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
    for function in offer.functions() {
        if let Some(tool) = (&**function as &dyn Any).downcast_ref::<PythonTool>() {
            tool.0.traverse(visit)?;
        }
    }
    Ok(())
}
