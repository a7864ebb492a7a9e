// The pointer, the wheel and the keyboard over the view.

class Input {
  constructor(view) {
    this.view = view;
    this.listen();
  }

  /** Listens to the pointer, the wheel and the keyboard. */
  listen() {
    const { canvas, camera } = this.view;
    const pointers = new Map();
    const height = () => canvas.clientHeight;
    let moved = 0;
    let spread = 0;
    canvas.addEventListener("pointerdown", (event) => {
      canvas.setPointerCapture(event.pointerId);
      pointers.set(event.pointerId, [event.offsetX, event.offsetY]);
      moved = 0;
      spread = 0;
      this.view.flight = null;
      canvas.classList.add("dragging");
    });
    canvas.addEventListener("pointermove", (event) => {
      const before = pointers.get(event.pointerId);
      const now = [event.offsetX, event.offsetY];
      if (!before) {
        this.hoverAt(...now);
        return;
      }
      const [dx, dy] = [now[0] - before[0], now[1] - before[1]];
      pointers.set(event.pointerId, now);
      moved += Math.abs(dx) + Math.abs(dy);
      if (pointers.size === 2) {
        // Two fingers: their distance zooms, their middle moves the view.
        const [a, b] = [...pointers.values()];
        const apart = Math.hypot(a[0] - b[0], a[1] - b[1]);
        if (spread) {
          camera.zoom(apart / spread);
        }
        spread = apart;
        camera.pan(dx / 2, dy / 2, height());
      } else if (event.buttons & 2 || event.shiftKey) {
        camera.pan(dx, dy, height());
      } else {
        camera.drag(dx, dy, height());
      }
      this.hover(null);
      this.view.request(true);
    });
    const up = (event) => {
      if (event.type === "pointerup" && moved < 5 && pointers.size === 1) {
        this.view.onPick(this.view.pick(event.offsetX, event.offsetY));
      }
      pointers.delete(event.pointerId);
      spread = 0;
      canvas.classList.toggle("dragging", pointers.size > 0);
    };
    canvas.addEventListener("pointerup", up);
    canvas.addEventListener("pointercancel", up);
    canvas.addEventListener("pointerleave", () => this.hover(null));
    canvas.addEventListener("dblclick", () => this.view.selected !== null && this.view.flyTo(this.view.selected));
    canvas.addEventListener("contextmenu", (event) => event.preventDefault());
    canvas.addEventListener("wheel", (event) => {
      event.preventDefault();
      this.view.flight = null;
      const pixels = event.deltaY * (event.deltaMode ? 30 : 1);
      camera.zoom(Math.exp(-0.0015 * pixels), event.offsetX - canvas.clientWidth / 2, event.offsetY - height() / 2, height());
      this.view.request(true);
    }, { passive: false });
    canvas.addEventListener("webglcontextlost", (event) => {
      event.preventDefault();
      fail("the browser took the graphics memory of the view away; load the page again");
    });
    canvas.addEventListener("keydown", (event) => this.key(event));
  }

  key(event) {
    const turn = { ArrowLeft: [1, 0], ArrowRight: [-1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[event.key];
    const height = this.view.canvas.clientHeight;
    if (event.ctrlKey || event.metaKey || event.altKey) {
      return;
    } else if (turn && (event.shiftKey || this.view.camera.isFlat)) {
      this.view.camera.pan(40 * turn[0], 40 * turn[1], height);
    } else if (turn) {
      this.view.camera.drag(25 * turn[0], 25 * turn[1], height);
    } else if (event.key === "+" || event.key === "=") {
      this.view.camera.zoom(1.25);
    } else if (event.key === "-") {
      this.view.camera.zoom(0.8);
    } else if (event.key === "0") {
      this.view.reset();
    } else if (event.key === "f") {
      byId("field").click();
    } else if (event.key === "n" || event.key === "p") {
      const rows = this.view.cloud.ranges.length;
      const step = event.key === "n" ? 1 : rows - 1;
      const row = this.view.selected === null ? (event.key === "n" ? 0 : rows - 1) : (this.view.selected + step) % rows;
      if (rows) {
        this.view.onPick(row, true);
      }
    } else if (event.key === "Escape") {
      this.view.onPick(null);
    } else {
      return;
    }
    event.preventDefault();
    this.view.request(true);
  }

  /** Finds the group under a resting pointer. */
  hoverAt(x, y) {
    clearTimeout(this.hovering);
    this.hovering = setTimeout(() => this.hover(this.view.isMoving() ? null : this.view.pick(x, y), x, y), 60);
  }

  /** Shows which group is under the pointer. */
  hover(row, x = 0, y = 0) {
    const tip = byId("tip");
    this.view.canvas.classList.toggle("over", row !== null);
    tip.hidden = row === null;
    if (row !== null) {
      const [from, to] = this.view.cloud.range(row);
      const part = this.view.cloud.points === this.view.cloud.shown ? "" : " shown";
      tip.textContent = `${this.view.names.group} ${row}, ${grouped(to - from)} ${this.view.names.point}s${part}`;
      const right = x > this.view.canvas.clientWidth / 2;
      Object.assign(tip.style, {
        left: right ? "auto" : `${x + 14}px`, right: right ? `${this.view.canvas.clientWidth - x + 14}px` : "auto", top: `${Math.max(4, y - 12)}px`,
      });
    } else {
      clearTimeout(this.hovering);
    }
    if (row !== this.view.hovered) {
      this.view.hovered = row;
      this.view.drawOverlay();
    }
  }
}

