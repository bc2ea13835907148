//! A Rust closure as a tool.

use std::future::Future;
use toolhub::error::HubError;
use toolhub::model::{Arguments, CheckOptions, Fitting, ToolOutput, ToolSpec, Unchecked};
use toolhub::schema::ArgumentSchema;
use toolhub::tool::{BoxFuture, CallContext, Tool};

type Body = dyn Fn(Arguments, CallContext) -> BoxFuture<'static, Result<ToolOutput, HubError>> + Send + Sync;

pub struct FunctionTool {
    spec: ToolSpec,
    schema: ArgumentSchema,
    body: Box<Body>,
}

impl FunctionTool {
    /// The closure must watch `ctx.cancel` if it can run for long.
    pub fn new<F, R>(spec: ToolSpec, body: F) -> Self
    where
        F: Fn(Arguments, CallContext) -> R + Send + Sync + 'static,
        R: Future<Output = Result<ToolOutput, HubError>> + Send + 'static,
    {
        let schema = ArgumentSchema::new(spec.parameters.clone());
        FunctionTool { spec, schema, body: Box::new(move |args, ctx| Box::pin(body(args, ctx))) }
    }
}

impl Tool for FunctionTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn check(&self, args: &Arguments, options: &CheckOptions<'_>) -> Result<Fitting<Arguments>, HubError> {
        self.schema.check(&self.spec.name, args, options)
    }

    fn unchecked(&self) -> &[Unchecked] {
        self.schema.unchecked()
    }

    fn call<'a>(
        &'a self,
        args: &'a Arguments,
        ctx: &'a CallContext,
    ) -> BoxFuture<'a, Result<ToolOutput, HubError>> {
        (self.body)(args.clone(), ctx.clone())
    }
}
