//! The registration of routes: each handler is registered once, and both what is served and its OpenAPI description
//! come from that.

use actix_web::dev::Handler;
use actix_web::http::Method;
use actix_web::{FromRequest, HttpResponse, Responder, Route, web};
use muster_core::Kind;
use serde_json::Value;
use utoipa::openapi::path::{Operation as Described, PathItem};
use utoipa::openapi::{Components, OpenApi};

use crate::error::HttpError;
use crate::guard::{GuardedArguments, Requirement};

/// A method of a path, with its handler and description.
pub struct Operation {
    /// Pattern by which paths are matched.
    pub pattern: String,
    pub method: Method,
    pub description: Description,
    /// What the guard of the handler requires.
    pub requirement: Requirement,
    /// Schemas to which the description refers.
    pub components: Option<Components>,
    route: Box<dyn Fn() -> Route + Send + Sync>,
}

/// The description of an operation.
pub enum Description {
    /// A path and its operation.
    One(String, Box<Described>),
    /// Makes the paths of one pattern, each with its operation as JSON: when the document is read, not at the start.
    Many(Box<dyn Fn() -> Vec<(String, Value)> + Send + Sync>),
}

impl std::fmt::Debug for Operation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Operation").field(&self.method).field(&self.pattern).finish_non_exhaustive()
    }
}

impl Operation {
    /// Returns a handler with the description of its path, completed by the requirement of the handler's guard.
    pub fn new<F, Args>(api: OpenApi, handler: F) -> Self
    where
        F: Handler<Args> + Send + Sync,
        Args: FromRequest + GuardedArguments + 'static,
        F::Output: Responder + 'static,
    {
        let OpenApi { paths, components, .. } = api;
        let (path, item) = paths.paths.into_iter().next().unwrap_or_default();
        let (method, mut operation) = only(item);
        require(&mut operation, &Args::REQUIREMENT);
        let route = Box::new(move || web::to(handler.clone()));
        let description = Description::One(path.clone(), Box::new(operation));
        Self { pattern: path, method, description, requirement: Args::REQUIREMENT, components, route }
    }

    /// Returns a handler whose pattern matches several described paths.
    pub fn of_many<F, Args>(
        (method, pattern): (Method, &str),
        describe: impl Fn(&Requirement) -> Vec<(String, Value)> + Send + Sync + 'static,
        handler: F,
    ) -> Self
    where
        F: Handler<Args> + Send + Sync,
        Args: FromRequest + GuardedArguments + 'static,
        F::Output: Responder + 'static,
    {
        let description = Description::Many(Box::new(move || describe(&Args::REQUIREMENT)));
        let route = Box::new(move || web::to(handler.clone()));
        let requirement = Args::REQUIREMENT;
        Self { pattern: pattern.to_owned(), method, description, requirement, components: None, route }
    }

    /// Replaces the pattern, such as by one with a regular expression, which is not part of the described path.
    #[must_use]
    pub fn matched_by(mut self, pattern: &str) -> Self {
        pattern.clone_into(&mut self.pattern);
        self
    }

    /// Returns the described paths.
    #[cfg(test)]
    pub fn paths(&self) -> Vec<String> {
        match &self.description {
            Description::One(path, _) => vec![path.clone()],
            Description::Many(describe) => describe().into_iter().map(|(path, _)| path).collect(),
        }
    }
}

/// Adds the requirement of the guard to the description.
fn require(operation: &mut Described, requirement: &Requirement) {
    let text = operation.description.take().into_iter().filter(|text| !text.is_empty()).chain(requirement.sentence());
    operation.description = Some(text.collect::<Vec<_>>().join("\n\n"));
    operation.security.get_or_insert_with(|| requirement.security());
}

/// Returns the single operation of a path, with its method.
fn only(item: PathItem) -> (Method, Described) {
    let PathItem { get, put, post, delete, patch, .. } = item;
    let all = [
        (Method::GET, get),
        (Method::PUT, put),
        (Method::POST, post),
        (Method::DELETE, delete),
        (Method::PATCH, patch),
    ];
    all.into_iter().find_map(|(method, operation)| Some((method, operation?))).unwrap_or_default()
}

/// Builds an operation from a handler with `#[utoipa::path]`.
macro_rules! operation {
    ($($segment:ident)::+) => {{
        #[derive(utoipa::OpenApi)]
        #[openapi(paths($($segment)::+))]
        struct Api;
        $crate::route::Operation::new(<Api as utoipa::OpenApi>::openapi(), $($segment)::+)
    }};
}

/// Defines the operations of a feature by their handlers. Of two paths that match the same request, the one without
/// parameters wins, else the first one.
macro_rules! operations {
    ($($($segment:ident)::+ $(at $pattern:literal)?),+ $(,)?) => {
        /// Returns the operations of this feature.
        pub fn operations() -> Vec<$crate::route::Operation> {
            vec![$($crate::route::operation!($($segment)::+)$(.matched_by($pattern))?),+]
        }
    };
}

pub(crate) use {operation, operations};

/// Serves operations: `HEAD` works wherever `GET` does, any other method is 405 with `Allow`. Paths without parameters are
/// compared first: that costs nanoseconds, a pattern hundreds.
pub fn serve(operations: &[Operation], config: &mut web::ServiceConfig) {
    let mut patterns: Vec<&str> = Vec::new();
    for operation in operations {
        if !patterns.contains(&operation.pattern.as_str()) {
            patterns.push(&operation.pattern);
        }
    }
    patterns.sort_by_key(|pattern| pattern.contains('{'));
    for pattern in patterns {
        let mut allowed = Vec::new();
        let mut resource = web::resource(pattern);
        for operation in operations.iter().filter(|operation| operation.pattern == pattern) {
            resource = resource.route((operation.route)().method(operation.method.clone()));
            allowed.push(operation.method.as_str());
            if operation.method == Method::GET {
                resource = resource.route((operation.route)().method(Method::HEAD));
                allowed.push("HEAD");
            }
        }
        let allowed = allowed.join(", ");
        config.service(resource.default_service(web::to(move || std::future::ready(not_allowed(&allowed)))));
    }
}

/// Returns the error for a method that a path does not support.
fn not_allowed(allowed: &str) -> Result<HttpResponse, HttpError> {
    let error = HttpError::new(Kind::MethodNotAllowed, format!("this path supports {allowed}"));
    Err(HttpError(error.0.allowing(allowed)))
}
