// The view: draws the points with WebGL2.
//
// Points of a group are consecutive, and the members of a selected row are a range, which is drawn once more on top.
// While the view moves, every k-th point is drawn: k grows if frames are slow.

const VERTEX = `#version 300 es
precision highp float;
layout(location = 0) in vec3 steps;
layout(location = 1) in uint row;
uniform mat4 matrix;
uniform vec3 box, origin;
uniform bool wraps;
uniform float pointSize, minSize, maxSize, fading;
flat out uint group;
out float shade;
flat out float size;
void main() {
  vec3 at = (steps * 65535.0 + 0.5) / 65536.0;
  if (wraps) at = fract(at - origin + 0.5) - 0.5 + origin;
  gl_Position = matrix * vec4((at - 0.5) * box, 1.0);
  size = clamp(pointSize / gl_Position.w, minSize, maxSize);
  gl_PointSize = size;
  group = row;
  // In perspective distant points fade, as in mist.
  shade = clamp(1.0 - fading * (gl_Position.w - 1.0), 0.25, 1.0);
}`;

const FRAGMENT = `#version 300 es
precision highp float;
precision highp usampler2D;
flat in uint group;
in float shade;
flat in float size;
uniform sampler2D colors;
uniform vec4 plain;
uniform float alpha, brightness;
uniform int mode;
out vec4 color;
void main() {
  // Mode 1 writes the number of the row, for picking.
  if (mode == 1) {
    uint id = group + 1u;
    color = vec4(float(id & 255u), float(id >> 8u & 255u), float(id >> 16u & 255u), 255.0) / 255.0;
    return;
  }
  vec4 tint = mode == 2 ? plain : vec4(texelFetch(colors, ivec2(int(group % ${COLORS}u), 0), 0).rgb, alpha);
  tint.rgb = mix(tint.rgb, vec3(brightness), mode == 3 ? 0.25 : 0.0);
  vec2 d = 2.0 * gl_PointCoord - 1.0;
  float cover = size < 2.5 ? 1.0 : clamp(0.5 * size * (1.0 - length(d)) + 0.5, 0.0, 1.0);
  float a = tint.a * cover * shade;
  color = vec4(tint.rgb * a, a);
}`;

/** The longest time of a frame while the view moves, in milliseconds, and the largest k. */
const SLOW = 40;
const MAX_STRIDE = 31;
/** The view rests after this time without a change, in milliseconds. */
const REST = 180;
/** The half side of the square about the pointer in which groups are picked, in pixels. */
const PICK = 4;

class View {
  /** Creates a view of a cloud. `onPick(row)` is called when a group is selected, or null if nothing is. */
  constructor(canvas, overlay, cloud, names, onPick) {
    this.canvas = canvas;
    this.cloud = cloud;
    this.names = names;
    this.onPick = onPick;
    this.camera = new Camera(cloud.dim);
    this.overlay = new Overlay(overlay, cloud);
    this.origin = [0.5, 0.5, 0.5];
    this.selected = null;
    this.hovered = null;
    this.showsField = true;
    this.sizeFactor = 1;
    this.stride = 1;
    this.movingStride = cloud.n > 500_000 ? 4 : 1;
    this.frames = { count: 0, lastTime: 0 };
    this.gl = canvas.getContext("webgl2", { antialias: false, alpha: false, powerPreference: "high-performance" });
    if (!this.gl) {
      throw new Error("this browser has no WebGL2, which the view of the points needs; the catalogue and the figures are below");
    }
    this.upload();
    this.input = new Input(this);
    new ResizeObserver(() => this.resize()).observe(canvas);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
      this.uploadColors();
      this.request();
    });
    this.resize();
    this.reset();
  }

  upload() {
    const { gl, cloud } = this;
    const compiled = (kind, source) => {
      const shader = gl.createShader(kind);
      gl.shaderSource(shader, source);
      gl.compileShader(shader);
      return shader;
    };
    const program = gl.createProgram();
    gl.attachShader(program, compiled(gl.VERTEX_SHADER, VERTEX));
    gl.attachShader(program, compiled(gl.FRAGMENT_SHADER, FRAGMENT));
    gl.linkProgram(program);
    if (!gl.getProgramParameter(program, gl.LINK_STATUS)) {
      throw new Error(`the view cannot be drawn: ${gl.getProgramInfoLog(program)}`);
    }
    gl.useProgram(program);
    this.uniforms = {};
    for (let i = 0; i < gl.getProgramParameter(program, gl.ACTIVE_UNIFORMS); i++) {
      const { name } = gl.getActiveUniform(program, i);
      this.uniforms[name] = gl.getUniformLocation(program, name);
    }
    const filled = (values) => {
      const buffer = gl.createBuffer();
      gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
      gl.bufferData(gl.ARRAY_BUFFER, values, gl.STATIC_DRAW);
      return buffer;
    };
    this.buffers = [filled(cloud.steps), filled(cloud.rowOf)];
    gl.enableVertexAttribArray(0);
    gl.enableVertexAttribArray(1);
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
    this.uploadColors();
    // A frame of a few pixels for picking.
    const side = 2 * PICK + 1;
    this.picking = gl.createFramebuffer();
    gl.bindFramebuffer(gl.FRAMEBUFFER, this.picking);
    const store = (format, attachment) => {
      const buffer = gl.createRenderbuffer();
      gl.bindRenderbuffer(gl.RENDERBUFFER, buffer);
      gl.renderbufferStorage(gl.RENDERBUFFER, format, side, side);
      gl.framebufferRenderbuffer(gl.FRAMEBUFFER, attachment, gl.RENDERBUFFER, buffer);
    };
    store(gl.RGBA8, gl.COLOR_ATTACHMENT0);
    store(gl.DEPTH_COMPONENT16, gl.DEPTH_ATTACHMENT);
    gl.bindFramebuffer(gl.FRAMEBUFFER, null);
  }

  uploadColors() {
    const { gl } = this;
    const colors = new Uint8Array(3 * COLORS);
    for (let row = 0; row < COLORS; row++) {
      colors.set(colorOf(row), 3 * row);
    }
    this.colors ??= gl.createTexture();
    gl.bindTexture(gl.TEXTURE_2D, this.colors);
    gl.pixelStorei(gl.UNPACK_ALIGNMENT, 1);
    gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGB8, COLORS, 1, 0, gl.RGB, gl.UNSIGNED_BYTE, colors);
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MIN_FILTER, gl.NEAREST);
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MAG_FILTER, gl.NEAREST);
  }

  resize() {
    const { canvas } = this;
    // More pixels than twice those of the page are slow and hardly visible.
    this.ratio = Math.min(2, window.devicePixelRatio || 1);
    for (const each of [canvas, this.overlay.canvas]) {
      each.width = Math.max(1, Math.round(canvas.clientWidth * this.ratio));
      each.height = Math.max(1, Math.round(canvas.clientHeight * this.ratio));
    }
    this.request();
  }

  /** Draws in the next frame: all points, or a part of them if the view moves. */
  request(isMoving = false) {
    if (isMoving) {
      this.moves = true;
      this.stride = this.movingStride;
    } else if (!this.isMoving()) {
      this.stride = 1;
    }
    this.pending ??= requestAnimationFrame((time) => {
      this.pending = null;
      this.frame(time);
    });
  }

  isMoving() {
    return Boolean(this.moves || this.resting);
  }

  /** Draws a frame, and adapts the number of points to the time of frames. */
  frame(time) {
    const since = time - this.frames.lastTime;
    this.frames.lastTime = time;
    this.frames.count++;
    this.flight?.(time);
    if (this.moves) {
      if (this.wasMoving && since > SLOW) {
        this.movingStride = Math.min(MAX_STRIDE, Math.ceil(this.movingStride * Math.min(8, Math.max(2, since / SLOW))));
      } else if (this.wasMoving && since < 0.4 * SLOW && this.cloud.n / this.movingStride < 4e5) {
        this.movingStride = Math.max(1, Math.floor(this.movingStride / 2));
      }
      this.stride = this.movingStride;
      clearTimeout(this.resting);
      this.resting = setTimeout(() => {
        this.resting = null;
        this.request();
      }, REST);
    }
    this.wasMoving = this.moves;
    this.moves = false;
    this.draw();
    if (this.flight) {
      this.request(true);
    }
  }

  /** Draws the points `from` to `to`, every k-th of them. */
  drawRange(from, to, stride) {
    const { gl } = this;
    const count = Math.ceil((to - from) / stride);
    if (count <= 0) {
      return;
    }
    gl.bindBuffer(gl.ARRAY_BUFFER, this.buffers[0]);
    gl.vertexAttribPointer(0, 3, gl.UNSIGNED_SHORT, true, 8 * stride, 8 * from);
    gl.bindBuffer(gl.ARRAY_BUFFER, this.buffers[1]);
    gl.vertexAttribIPointer(1, 1, gl.UNSIGNED_INT, 4 * stride, 4 * from);
    gl.drawArrays(gl.POINTS, 0, count);
  }

  /** Sets the position of the camera and the size of points. */
  place(matrix, height) {
    const { gl, uniforms, cloud, camera } = this;
    gl.uniformMatrix4fv(uniforms.matrix, false, matrix);
    gl.uniform3fv(uniforms.box, cloud.box.map((side) => side || 1));
    gl.uniform3fv(uniforms.origin, this.origin);
    gl.uniform1i(uniforms.wraps, cloud.periodic && cloud.dim === 3 ? 1 : 0);
    // Points have a size in the box: a part of their mean separation.
    const separation = 0.14 * Math.max(cloud.n, 1) ** (-1 / cloud.dim);
    const flat = camera.isFlat ? camera.distance : 1;
    gl.uniform1f(uniforms.pointSize, this.sizeFactor * separation * height / (2 * HALF_VIEW * flat));
    const least = cloud.n > 200_000 ? 1 : cloud.n > 5_000 ? 1.8 : 4;
    gl.uniform1f(uniforms.minSize, Math.max(1, least * this.ratio * this.sizeFactor));
    gl.uniform1f(uniforms.maxSize, Math.max(1, 7 * this.ratio * this.sizeFactor));
    gl.uniform1f(uniforms.fading, camera.isFlat ? 0 : 0.45 / Math.max(camera.distance, 0.5));
  }

  draw() {
    const { gl, uniforms, cloud, canvas, camera } = this;
    const [width, height] = [canvas.width, canvas.height];
    const style = getComputedStyle(canvas.parentElement).backgroundColor.match(/[\d.]+/g).map(Number);
    gl.viewport(0, 0, width, height);
    gl.clearColor(style[0] / 255, style[1] / 255, style[2] / 255, 1);
    gl.clear(gl.COLOR_BUFFER_BIT);
    this.matrix = camera.matrix(width / height);
    this.place(this.matrix, height);
    gl.uniform1f(uniforms.brightness, isDark() ? 1 : 0);
    const [from, to] = this.selected === null ? [0, 0] : cloud.range(this.selected);
    const isDim = to > from;
    const k = this.stride;
    // Many points are drawn more transparent, so that density remains visible. Fewer points while moving are less so.
    const cover = (n, most) => Math.min(most, Math.max(0.1, 14 * (Math.max(n, 1) / k) ** -0.33)) * (isDim ? 0.35 : 1);
    if (this.showsField) {
      const grey = isDark() ? [0.62, 0.68, 0.76] : [0.42, 0.46, 0.52];
      gl.uniform1i(uniforms.mode, 2);
      gl.uniform4f(uniforms.plain, ...grey, cover(cloud.n - cloud.nGrouped, 0.6) * 0.75);
      this.drawRange(cloud.nGrouped, cloud.n, k);
    }
    gl.uniform1i(uniforms.mode, 0);
    gl.uniform1f(uniforms.alpha, cover(cloud.nGrouped, 0.9));
    this.drawRange(0, cloud.nGrouped, k);
    if (isDim) {
      // The members keep their number unless there are very many.
      gl.uniform1i(uniforms.mode, 3);
      gl.uniform1f(uniforms.alpha, Math.min(0.9, Math.max(0.25, 8 * (to - from) ** -0.33)));
      gl.uniform1f(uniforms.minSize, 1.6 * this.ratio * this.sizeFactor);
      gl.uniform1f(uniforms.maxSize, 4 * this.ratio * this.sizeFactor);
      this.drawRange(from, to, to - from > 50_000 ? k : 1);
    }
    this.highlighted = [from, to];
    this.drawOverlay();
  }

  drawOverlay() {
    const { cloud } = this;
    const marks = [...new Set([this.hovered, this.selected])].filter((row) => row !== null && cloud.place(row));
    this.overlay.draw({
      camera: this.camera,
      project: (at) => this.project(at),
      origin: this.origin,
      ratio: this.ratio,
      marks: marks.map((row) => {
        return { place: cloud.place(row), row, name: `${this.names.group} ${row}`, isStrong: row === this.selected };
      }),
    });
    const thinned = byId("thinned");
    thinned.hidden = this.stride === 1;
    thinned.textContent = `1 of ${this.stride} points while the view moves`;
  }

  /** Converts world coordinates to pixels of the page and a relative distance; null behind the camera. */
  project(at) {
    const m = this.matrix;
    const clip = [0, 1, 3].map((i) => m[i] * at[0] + m[4 + i] * at[1] + m[8 + i] * at[2] + m[12 + i]);
    if (clip[2] <= 0.001) {
      return null;
    }
    const [width, height] = [this.canvas.width / this.ratio, this.canvas.height / this.ratio];
    const depth = this.camera.isFlat ? 1 : clip[2] / this.camera.distance;
    return [(clip[0] / clip[2] + 1) * width / 2, (1 - clip[1] / clip[2]) * height / 2, depth];
  }

  /** Returns the row of the group under a position in pixels of the page, or null. */
  pick(x, y) {
    const { gl, uniforms, canvas, cloud } = this;
    const side = 2 * PICK + 1;
    const [width, height] = [canvas.width, canvas.height];
    // Enlarges the few pixels about the pointer to all of clip space.
    const [cx, cy] = [2 * x * this.ratio / width - 1, 1 - 2 * y * this.ratio / height];
    const matrix = this.camera.matrix(width / height);
    for (let k = 0; k < 4; k++) {
      matrix[4 * k] = (matrix[4 * k] - cx * matrix[4 * k + 3]) * width / side;
      matrix[4 * k + 1] = (matrix[4 * k + 1] - cy * matrix[4 * k + 3]) * height / side;
    }
    gl.bindFramebuffer(gl.FRAMEBUFFER, this.picking);
    gl.viewport(0, 0, side, side);
    gl.disable(gl.BLEND);
    gl.enable(gl.DEPTH_TEST);
    gl.clearColor(0, 0, 0, 0);
    gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
    this.place(matrix, height);
    gl.uniform1i(uniforms.mode, 1);
    this.drawRange(0, cloud.nGrouped, 1);
    const pixels = new Uint8Array(4 * side * side);
    gl.readPixels(0, 0, side, side, gl.RGBA, gl.UNSIGNED_BYTE, pixels);
    gl.bindFramebuffer(gl.FRAMEBUFFER, null);
    gl.disable(gl.DEPTH_TEST);
    gl.enable(gl.BLEND);
    let [best, nearest] = [null, Infinity];
    for (let i = 0; i < side * side; i++) {
      const id = pixels[4 * i] | pixels[4 * i + 1] << 8 | pixels[4 * i + 2] << 16;
      const distance = (i % side - PICK) ** 2 + (Math.floor(i / side) - PICK) ** 2;
      if (id && distance < nearest) {
        [best, nearest] = [id - 1, distance];
      }
    }
    return best;
  }

  /** Selects a row, or nothing. */
  select(row) {
    this.selected = row;
    this.request();
  }

  /** Moves to a group within a moment. In a periodic box the box is then shown about the group. */
  flyTo(row) {
    const place = this.cloud.place(row);
    if (!place) {
      return;
    }
    const start = [...this.camera.target];
    if (this.cloud.periodic && this.cloud.dim === 3) {
      // The picture does not jump: the camera moves to the nearest image of its target.
      const now = start.map((x, k) => x / this.cloud.box[k] + 0.5);
      this.origin = [...place.at];
      start.splice(0, 3, ...this.cloud.world(now, this.origin));
    }
    const from = { target: start, distance: this.camera.distance };
    const to = this.cloud.world(place.at, this.origin);
    const distance = Math.max(2e-3, 1.9 * place.radius / HALF_VIEW);
    const time = matchMedia("(prefers-reduced-motion: reduce)").matches ? 0 : 700;
    const began = performance.now();
    this.flight = (now) => {
      const share = time ? Math.min(1, Math.max(0, (now - began) / time)) : 1;
      const eased = share * share * (3 - 2 * share);
      this.camera.target = to.map((x, k) => from.target[k] + (x - from.target[k]) * eased);
      this.camera.distance = from.distance * (distance / from.distance) ** eased;
      if (share === 1) {
        this.flight = null;
      }
    };
    this.request(true);
  }

  reset() {
    this.flight = null;
    this.origin = [0.5, 0.5, 0.5];
    this.camera.reset(this.canvas.clientWidth / Math.max(1, this.canvas.clientHeight));
    this.request();
  }

  setMode(mode) {
    const wasFlat = this.camera.isFlat;
    this.camera.mode = mode;
    if (wasFlat !== this.camera.isFlat) {
      this.reset();
    }
    this.request();
  }
}

