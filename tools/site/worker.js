// A page that is a file may start no worker. The site's search asks for one, so it gets this: the same script, in a
// hidden frame of the page. Messages go both ways as copies, and never before the caller has gone on, as with a worker.
"use strict";

class FrameWorker extends EventTarget {
  constructor(address) {
    super();
    this.onmessage = null;
    this.waiting = [];
    this.frame = document.createElement("iframe");
    this.frame.hidden = true;
    document.documentElement.append(this.frame);
    this.inside = this.frame.contentWindow;
    const page = this.frame.contentDocument;
    page.open();
    page.close();
    this.inside.postMessage = (data) => this.later(() => this.hand(this, data));
    const script = page.createElement("script");
    script.src = new URL(address, location.href).href;
    script.onload = () => this.start();
    script.onerror = () => this.fail();
    page.documentElement.append(script);
  }

  start() {
    const waiting = this.waiting;
    this.waiting = null;
    for (const data of waiting) this.hand(this.inside, data);
  }

  fail() {
    const event = new Event("error");
    this.dispatchEvent(event);
    this.onerror?.(event);
  }

  postMessage(data) {
    const copy = structuredClone(data);
    if (this.waiting) this.waiting.push(copy);
    else this.later(() => this.hand(this.inside, copy));
  }

  // The frame takes what is set as its `onmessage` for itself; an ordinary object has to be asked.
  hand(target, data) {
    const event = new MessageEvent("message", { data });
    target.dispatchEvent(event);
    if (target === this) this.onmessage?.(event);
  }

  later(what) {
    setTimeout(() => this.frame.isConnected && what(), 0);
  }

  terminate() {
    this.frame.remove();
  }
}

if (location.protocol === "file:") window.Worker = FrameWorker;
