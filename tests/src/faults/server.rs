//! The server that the proxies of a test binary lead to.

use bucket_mongo::testing::DevServer;
use tokio::sync::OnceCell;

use super::{plan::Plan, proxy::Proxy};

static SERVER: OnceCell<DevServer> = OnceCell::const_new();

/// A server that no other tests share: a transaction whose client was cut off blocks others until
/// it expires, so its lifetime is short.
///
/// # Panics
///
/// If no server can be started.
pub async fn start() -> &'static DevServer {
    let start = || async {
        let lifetime = ["--setParameter", "transactionLifetimeLimitSeconds=3"];
        let server = DevServer::builder().own().arguments(lifetime).await;
        server.expect("a development server")
    };
    SERVER.get_or_init(start).await
}

/// A proxy for the server that damages nothing yet.
///
/// # Panics
///
/// If no server can be started.
pub async fn proxy() -> Proxy {
    Proxy::start(start().await.members()[0].address(), Plan::off()).await
}
