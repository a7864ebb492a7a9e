// The points: decoding of their coordinates, and the groups that they belong to.

/** Marks points without a group. */
const NO_ROW = 0xffffffff;

class Cloud {
  constructor(description, bytes) {
    Object.assign(this, description);
    this.n = this.shown;
    const longest = Math.max(...this.sides);
    /** Sides of the box in world units. */
    this.box = [0, 1, 2].map((k) => (this.sides[k] ?? 0) / longest);
    this.worldLength = longest * this.factor;
    /** Four steps per point, the last of which is unused. */
    this.steps = this.decode(bytes);
    /** The row of each point: that of its smallest group. */
    this.rowOf = new Uint32Array(this.n).fill(NO_ROW);
    this.rows.forEach((row, group) => this.rowOf.fill(row, this.starts[group], this.starts[group + 1]));
    /** The number of points in groups, which come first. */
    this.nGrouped = this.starts[this.rows.length] ?? 0;
    this.places = new Map();
  }

  /** Adds up the differences between successive coordinates, whose high and low bytes are apart. */
  decode(bytes) {
    const steps = new Uint16Array(4 * this.n);
    for (let axis = 0; axis < this.dim; axis++) {
      const high = 2 * axis * this.n;
      const low = high + this.n;
      let x = 0;
      for (let i = 0; i < this.n; i++) {
        x = (x + (bytes[high + i] << 8) + bytes[low + i]) & 0xffff;
        steps[4 * i + axis] = x;
      }
    }
    if (this.dim === 2) {
      for (let i = 0; i < this.n; i++) {
        steps[4 * i + 2] = 32768;
      }
    }
    return steps;
  }

  /** Returns the first place and the end of the members of a row. */
  range(row) {
    return this.ranges[row] ?? [0, 0];
  }

  /**
   * Returns the middle and the radius of the shown members of a row, as shares of the box and in world units. In a
   * periodic box members are measured from the first one, by their nearest images.
   */
  place(row) {
    if (!this.places.has(row)) {
      this.places.set(row, this.measure(...this.range(row)));
    }
    return this.places.get(row);
  }

  measure(from, to) {
    if (from === to) {
      return null;
    }
    const { steps, dim, box, periodic } = this;
    const first = [0, 1, 2].map((k) => steps[4 * from + k]);
    const offset = (i, k) => {
      const d = steps[4 * i + k] - first[k];
      return periodic ? ((d + 98304) & 0xffff) - 32768 : d;
    };
    const middle = [0, 0, 0];
    for (let i = from; i < to; i++) {
      for (let k = 0; k < dim; k++) {
        middle[k] += offset(i, k) / (to - from);
      }
    }
    let most = 0;
    for (let i = from; i < to; i++) {
      let square = 0;
      for (let k = 0; k < dim; k++) {
        square += ((offset(i, k) - middle[k]) / 65536 * box[k]) ** 2;
      }
      most = Math.max(most, square);
    }
    const at = first.map((x, k) => (k < dim ? (x + 0.5 + middle[k]) / 65536 : 0.5));
    return { at: periodic ? at.map((x) => x - Math.floor(x)) : at, radius: Math.max(Math.sqrt(most), 1e-4) };
  }

  /** Converts shares of the box to world coordinates. In a periodic box the image nearest to `origin` is taken. */
  world(share, origin) {
    return share.map((x, k) => {
      const d = x - origin[k];
      const near = this.periodic && k < this.dim ? d - Math.floor(d + 0.5) : d;
      return (near + origin[k] - 0.5) * this.box[k];
    });
  }

  /** Converts a world coordinate to the unit of the view. */
  coordinate(x, k) {
    return (this.lo[k] + (x / this.box[k] + 0.5) * this.sides[k]) * this.factor;
  }
}

