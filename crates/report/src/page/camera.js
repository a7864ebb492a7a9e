// The camera: from positions in the box to pixels.
//
// World coordinates have their origin in the middle of the box, whose longest side is 1. In 3-D the camera orbits about
// its target and sees in perspective. In a plane it looks along an axis without perspective.

/** The tangent of half of the vertical angle of view. */
const HALF_VIEW = Math.tan(20 * Math.PI / 180);

/** The axes to the right and upwards in each projection; a third one points to the viewer. */
const PLANES = { xy: [0, 1, 2], xz: [0, 2, 1], yz: [1, 2, 0] };

class Camera {
  constructor(dim) {
    this.mode = dim === 3 ? "3d" : "xy";
    this.reset();
  }

  /** Shows the whole box in a window of the given width over its height. */
  reset(aspect = 1) {
    this.target = [0, 0, 0];
    this.yaw = 0.6;
    this.pitch = 0.42;
    this.distance = (this.mode === "3d" ? 2.75 : 1.7) / Math.min(1, aspect);
  }

  get isFlat() {
    return this.mode !== "3d";
  }

  /** Returns the directions to the right, upwards and to the viewer. */
  directions() {
    if (this.isFlat) {
      return PLANES[this.mode].map((axis) => [0, 1, 2].map((k) => (k === axis ? 1 : 0)));
    }
    const [sy, cy, sp, cp] = [Math.sin(this.yaw), Math.cos(this.yaw), Math.sin(this.pitch), Math.cos(this.pitch)];
    return [[cy, sy, 0], [-sy * sp, cy * sp, cp], [sy * cp, -cy * cp, sp]];
  }

  /** Returns the matrix from world coordinates to clip space, column by column. */
  matrix(aspect) {
    const [right, up, back] = this.directions();
    const along = (v) => -(v[0] * this.target[0] + v[1] * this.target[1] + v[2] * this.target[2]);
    const half = HALF_VIEW;
    const d = this.distance;
    const [near, far] = [0.02 * d, d + 4];
    // Rows of clip space as functions of the offset from the target along right, up and back.
    const rows = this.isFlat
      ? [scaled(right, along(right), 1 / (half * d * aspect)), scaled(up, along(up), 1 / (half * d)),
        scaled(back, along(back), -0.2), [0, 0, 0, 1]]
      : [scaled(right, along(right), 1 / (half * aspect)), scaled(up, along(up), 1 / half),
        depthRow(back, along(back), d, near, far), [...back.map((x) => -x), d - along(back)]];
    const matrix = new Float32Array(16);
    rows.forEach((row, i) => row.forEach((x, k) => (matrix[4 * k + i] = x)));
    return matrix;
  }

  /** Returns the length of one pixel at the target. */
  pixel(height) {
    return 2 * HALF_VIEW * this.distance / height;
  }

  /** Turns the view, or moves it in a plane, by pixels. */
  drag(dx, dy, height) {
    if (this.isFlat) {
      this.pan(dx, dy, height);
      return;
    }
    this.yaw -= 0.006 * dx;
    this.pitch = Math.max(-1.5, Math.min(1.5, this.pitch + 0.006 * dy));
  }

  /** Moves the target by pixels. */
  pan(dx, dy, height) {
    const [right, up] = this.directions();
    const step = this.pixel(height);
    for (let k = 0; k < 3; k++) {
      this.target[k] = Math.max(-1.5, Math.min(1.5, this.target[k] - step * (dx * right[k] - dy * up[k])));
    }
  }

  /** Zooms by a factor. In a plane the position under the pointer, given in pixels from the middle, stays in place. */
  zoom(factor, dx = 0, dy = 0, height = 1) {
    const before = this.distance;
    this.distance = Math.max(2e-4, Math.min(8, this.distance / factor));
    if (this.isFlat) {
      const moved = 1 - before / this.distance;
      this.pan(-dx * moved, -dy * moved, height);
    }
  }
}

/** Returns a row of a matrix: a direction and an offset, times a factor. */
function scaled(direction, offset, factor) {
  return [...direction.map((x) => x * factor), offset * factor];
}

/** Returns the row of the depth in perspective. */
function depthRow(back, offset, distance, near, far) {
  const a = (far + near) / (far - near);
  const b = 2 * far * near / (far - near);
  // The depth of a position is `distance - back . (position - target)`.
  return [...back.map((x) => -a * x), a * (distance - offset) - b];
}

