//! The server behind the proxies of a test binary.

use bucket_mongo::testing::DevServer;
use tokio::sync::OnceCell;

use super::{plan::Plan, proxy::Proxy};

static SERVER: OnceCell<DevServer> = OnceCell::const_new();

/// A server that is not that of other tests: a transaction whose client was cut off is in the way of
/// others until its time is over, so that is short.
///
/// # Panics
///
/// If no server can be had.
pub async fn start() -> &'static DevServer {
    let start = || async {
        let lifetime = ["--setParameter", "transactionLifetimeLimitSeconds=3"];
        let server = DevServer::builder().own().arguments(lifetime).await;
        server.expect("a development server")
    };
    SERVER.get_or_init(start).await
}

/// A proxy before the server that damages nothing as yet.
///
/// # Panics
///
/// If no server can be had.
pub async fn proxy() -> Proxy {
    Proxy::start(start().await.members()[0].address(), Plan::off()).await
}
