//! A call, as its caller sees it.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::Duration;

use ken_language::{CancelToken, Cancelled};

use super::job::{CallId, Message, Order, Place};
use crate::decoder::error::DecoderError;

/// How long a caller waits for a message before it checks whether to go on.
const PATIENCE: Duration = Duration::from_millis(250);

/// A call in progress. Dropping it cancels its requests.
pub(in crate::decoder) struct Call {
    id: CallId,
    orders: Sender<Order>,
    messages: Receiver<Message>,
}

impl Call {
    pub(super) fn new(id: CallId, orders: Sender<Order>, messages: Receiver<Message>) -> Self {
        Self {
            id,
            orders,
            messages,
        }
    }

    /// The next message; `None` if none arrived for a while.
    ///
    /// # Errors
    /// The failure of the call's work.
    pub(in crate::decoder) fn next(&self) -> Result<Option<Message>, DecoderError> {
        match self.messages.recv_timeout(PATIENCE) {
            Ok(Message::Failed(error)) => Err(error),
            Ok(message) => Ok(Some(message)),
            Err(RecvTimeoutError::Timeout) => Ok(None),
            Err(RecvTimeoutError::Disconnected) => {
                Err(DecoderError::broken_off("its thread ended"))
            }
        }
    }

    /// The next message, unless `cancel` is set first.
    ///
    /// # Errors
    /// The failure of the call's work.
    pub(in crate::decoder) fn wait(&self, cancel: &CancelToken) -> Result<Message, DecoderError> {
        loop {
            if cancel.is_set() {
                return Err(Cancelled.into());
            }
            if let Some(message) = self.next()? {
                return Ok(message);
            }
        }
    }

    /// Cancels a request, or one of its samples.
    pub(in crate::decoder) fn cancel(&self, request: usize, sample: Option<usize>) {
        let place = Place {
            call: self.id,
            request,
        };
        self.tell(Order::Cancel { place, sample });
    }

    /// Acknowledges what was written, after any cancellations.
    pub(in crate::decoder) fn seen(&self) {
        self.tell(Order::Seen(self.id));
    }

    /// If the scheduler has ended, it has dropped the call's sender, which `next` notices.
    fn tell(&self, order: Order) {
        let _ = self.orders.send(order);
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        self.tell(Order::Leave(self.id));
    }
}
