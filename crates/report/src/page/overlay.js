// Lines and text over the points: the box, axes, a scale bar, and circles about groups.

/** Returns a round number that is at most `x`: 1, 2 or 5 times a power of ten. */
function roundBelow(x) {
  const power = 10 ** Math.floor(Math.log10(x));
  return [5, 2, 1].find((digit) => digit * power <= x * 1.0000001) * power;
}

class Overlay {
  constructor(canvas, cloud) {
    this.canvas = canvas;
    this.cloud = cloud;
    this.context = canvas.getContext("2d");
  }

  /** Draws everything. `project` converts world coordinates to pixels; `marks` are the groups to circle. */
  draw({ camera, project, origin, marks, ratio }) {
    const { canvas, context } = this;
    this.width = canvas.width / ratio;
    this.height = canvas.height / ratio;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, this.width, this.height);
    const style = getComputedStyle(canvas);
    this.ink = style.color;
    context.font = `13px ${style.fontFamily}`;
    context.lineWidth = 1;
    context.strokeStyle = context.fillStyle = this.ink;
    if (camera.isFlat) {
      this.axes(camera, project);
    }
    this.box(camera, project, origin);
    if (!camera.isFlat) {
      this.scaleBar(camera);
    }
    for (const { place, name, row, isStrong } of marks) {
      this.mark(camera, project(this.cloud.world(place.at, origin)), place.radius, name, row, isStrong);
    }
  }

  line(from, to) {
    const { context } = this;
    context.beginPath();
    context.moveTo(...from);
    context.lineTo(...to);
    context.stroke();
  }

  /** The edges of the box, and the names of its axes. */
  box(camera, project, origin) {
    const { context, cloud } = this;
    context.globalAlpha = cloud.periodic ? 0.55 : 0.3;
    context.setLineDash(cloud.periodic ? [] : [4, 4]);
    const corner = (bits) => [0, 1, 2].map((k) => (origin[k] - 0.5 + (bits >> k & 1) - 0.5) * cloud.box[k]);
    const corners = [...Array(8).keys()].map((bits) => project(corner(bits)));
    for (let bits = 0; bits < 8; bits++) {
      for (let k = 0; k < cloud.dim; k++) {
        const other = bits | 1 << k;
        if (other !== bits && corners[bits] && corners[other]) {
          this.line(corners[bits], corners[other]);
        }
      }
    }
    context.setLineDash([]);
    context.globalAlpha = 1;
    if (!camera.isFlat) {
      context.textAlign = "center";
      cloud.axes.forEach((name, k) => {
        const [a, b] = [corners[0], corners[1 << k]];
        const middle = project([0, 0, 0].map((_, j) => (origin[j] - 1) * cloud.box[j] + (j === k ? 0.5 * cloud.box[j] : 0)));
        if (a && b && middle) {
          context.fillText(name, middle[0], middle[1] + 18);
        }
      });
    }
  }

  /** Ticks along the lower and the left edge, in a plane. */
  axes(camera, project) {
    const { context, cloud, width, height } = this;
    const [right, up] = PLANES[camera.mode];
    const pixel = camera.pixel(height);
    const middle = project(camera.target);
    const unit = cloud.unit ? ` [${cloud.unit}]` : "";
    [[right, width, 90], [up, height, 60]].forEach(([axis, size, gap], side) => {
      const scale = cloud.sides[axis] * cloud.factor / cloud.box[axis];
      const step = roundBelow(gap * pixel * scale) * 2;
      const at = (pixels) => cloud.coordinate(camera.target[axis] + (side ? -1 : 1) * (pixels - middle[side]) * pixel, axis);
      const [lo, hi] = [at(0), at(size)].sort((a, b) => a - b);
      for (let i = Math.ceil(lo / step); i * step <= hi; i++) {
        const place = middle[side] + (side ? -1 : 1) * (i * step - at(middle[side])) / (pixel * scale);
        const text = short(i * step, 7);
        context.globalAlpha = 1;
        if (side) {
          context.textAlign = "left";
          this.line([0, place], [6, place]);
          if (place > 40 && place < height - 50) {
            context.fillText(text, 10, place + 4);
          }
        } else if (place > 40) {
          context.textAlign = "center";
          this.line([place, height], [place, height - 6]);
          context.fillText(text, place, height - 11);
        }
      }
    });
    context.textAlign = "left";
    context.fillText(`\u2191 ${cloud.axes[up]}, \u2192 ${cloud.axes[right]}${unit}`, 10, height - 34);
  }

  /** A bar of round length at the target. */
  scaleBar(camera) {
    const { context, cloud, width, height } = this;
    const pixel = camera.pixel(height) * cloud.worldLength;
    const length = roundBelow(Math.min(160, 0.3 * width) * pixel);
    const [left, bottom] = [14, height - 14];
    const right = left + length / pixel;
    context.lineWidth = 2;
    this.line([left, bottom], [right, bottom]);
    context.lineWidth = 1;
    this.line([left, bottom - 4], [left, bottom + 4]);
    this.line([right, bottom - 4], [right, bottom + 4]);
    context.textAlign = "left";
    context.fillText(`${short(length)} ${cloud.unit}`, left, bottom - 9);
  }

  /** A circle about a group, with its name. */
  mark(camera, at, radius, name, row, isStrong) {
    if (!at) {
      return;
    }
    const { context, height } = this;
    const size = Math.max(6, radius / (camera.pixel(height) * at[2])) + 3;
    context.strokeStyle = cssColor(row);
    context.lineWidth = isStrong ? 2 : 1;
    context.beginPath();
    context.arc(at[0], at[1], size, 0, 2 * Math.PI);
    context.stroke();
    context.textAlign = "center";
    context.fillStyle = this.ink;
    context.fillText(name, at[0], Math.max(62, at[1] - size - 6));
  }
}

