//! A request to stop that every layer can see: asynchronous code awaits it, the load engine's threads poll it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::sync::Notify;

/// A request to stop, shared by its clones.
#[derive(Debug, Clone, Default)]
pub struct Cancel {
    inner: Arc<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    asked: AtomicBool,
    notify: Notify,
}

impl Cancel {
    /// Asks everything to stop.
    pub fn request(&self) {
        self.inner.asked.store(true, Ordering::SeqCst);
        self.inner.notify.notify_waiters();
    }

    /// Whether somebody asked.
    pub fn is_requested(&self) -> bool {
        self.inner.asked.load(Ordering::SeqCst)
    }

    /// Returns when somebody asks.
    pub async fn requested(&self) {
        let notified = self.inner.notify.notified();
        tokio::pin!(notified);
        // Registered before the flag is read, so a request in between is not missed.
        notified.as_mut().enable();
        if !self.is_requested() {
            notified.await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_request_made_before_or_after_the_wait_ends_it() {
        let cancel = Cancel::default();
        let other = cancel.clone();
        let waiter = tokio::spawn(async move { other.requested().await });
        tokio::task::yield_now().await;
        cancel.request();
        waiter.await.unwrap();
        cancel.requested().await;
        assert!(cancel.is_requested());
    }
}
