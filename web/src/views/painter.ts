// Draws the few shapes that scenes need, on a canvas for the screen and PNG, or as SVG. A scene does not know which.
import { toCanvas, rasterise, type Cells } from './cells'
import type { Ink } from './colour'

export const kFont =
  "system-ui, -apple-system, 'Segoe UI', 'Noto Sans', 'Noto Sans CJK SC', 'PingFang SC', 'Microsoft YaHei', 'DejaVu Sans', sans-serif"

export interface TextStyle {
  size: number
  fill: string
  align?: 'left' | 'center' | 'right'
  bold?: boolean
  turn?: number // degrees
}

export interface ShapeStyle {
  fill?: string
  stroke?: string
  width?: number // of the stroke
  alpha?: number
  radius?: number
}

export interface Painter {
  readonly ink: Ink
  text(text: string, x: number, y: number, style: TextStyle): void
  rect(x: number, y: number, w: number, h: number, style: ShapeStyle): void
  path(d: string, style: ShapeStyle): void
  hatch(x: number, y: number, w: number, h: number): void // absent cells
  cells(cells: Cells, x: number, y: number, w: number, h: number): void
  group(x: number, y: number, draw: () => void): void // draws relative to (x, y)
}

let ruler: CanvasRenderingContext2D | null = null
export function measure(text: string, size: number, bold = false): number {
  ruler ??= document.createElement('canvas').getContext('2d')!
  ruler.font = `${bold ? '600 ' : ''}${size}px ${kFont}`
  return ruler.measureText(text).width
}

export class CanvasPainter implements Painter {
  private readonly context: CanvasRenderingContext2D
  readonly ink: Ink
  private readonly ratio: number

  constructor(context: CanvasRenderingContext2D, ink: Ink, ratio: number) {
    this.context = context
    this.ink = ink
    this.ratio = ratio
    context.direction = 'ltr'
    context.textBaseline = 'alphabetic'
  }

  text(text: string, x: number, y: number, style: TextStyle): void {
    const c = this.context
    c.font = `${style.bold ? '600 ' : ''}${style.size}px ${kFont}`
    c.fillStyle = style.fill
    c.textAlign = style.align ?? 'left'
    if (!style.turn) return c.fillText(text, x, y)
    c.save()
    c.translate(x, y)
    c.rotate((style.turn * Math.PI) / 180)
    c.fillText(text, 0, 0)
    c.restore()
  }

  rect(x: number, y: number, w: number, h: number, style: ShapeStyle): void {
    const c = this.context
    c.globalAlpha = style.alpha ?? 1
    c.beginPath()
    if (style.radius) c.roundRect(x, y, w, h, style.radius)
    else c.rect(x, y, w, h)
    this.finish(style)
  }

  path(d: string, style: ShapeStyle): void {
    const path = new Path2D(d)
    this.context.globalAlpha = style.alpha ?? 1
    this.finish(style, path)
  }

  private finish(style: ShapeStyle, path?: Path2D): void {
    const c = this.context
    if (style.fill) {
      c.fillStyle = style.fill
      if (path) c.fill(path)
      else c.fill()
    }
    if (style.stroke) {
      c.strokeStyle = style.stroke
      c.lineWidth = style.width ?? 1
      if (path) c.stroke(path)
      else c.stroke()
    }
    c.globalAlpha = 1
  }

  hatch(x: number, y: number, w: number, h: number): void {
    const c = this.context
    c.save()
    c.beginPath()
    c.rect(x, y, w, h)
    c.clip()
    c.beginPath()
    for (let at = x - h; at < x + w; at += 6) {
      c.moveTo(at, y + h)
      c.lineTo(at + h, y)
    }
    c.strokeStyle = this.ink.rule
    c.lineWidth = 1
    c.stroke()
    c.restore()
  }

  group(x: number, y: number, draw: () => void): void {
    this.context.save()
    this.context.translate(x, y)
    draw()
    this.context.restore()
  }

  cells(cells: Cells, x: number, y: number, w: number, h: number): void {
    const c = this.context
    c.imageSmoothingEnabled = false
    c.drawImage(toCanvas(rasterise(cells, w * this.ratio, h * this.ratio)), x, y, w, h)
  }
}

// Escapes XML. Characters that XML 1.0 forbids are replaced, so that no token makes a file invalid.
export const escapeXml = (text: string): string =>
  text
    // eslint-disable-next-line no-control-regex -- control characters are the point of this expression
    .replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, '\ufffd')
    .replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`)

const number = (x: number): string => String(Math.round(x * 100) / 100)

export class SvgPainter implements Painter {
  private parts: string[] = []
  readonly ink: Ink

  constructor(ink: Ink) {
    this.ink = ink
  }

  private element(name: string, attributes: Record<string, string | number | undefined>, content?: string): void {
    const set = Object.entries(attributes)
      .filter(([, v]) => v !== undefined)
      .map(([k, v]) => ` ${k}="${typeof v === 'number' ? number(v) : escapeXml(v!)}"`)
      .join('')
    this.parts.push(content === undefined ? `<${name}${set}/>` : `<${name}${set}>${content}</${name}>`)
  }

  private style(style: ShapeStyle): Record<string, string | number | undefined> {
    return {
      fill: style.fill ?? 'none',
      stroke: style.stroke,
      'stroke-width': style.stroke ? (style.width ?? 1) : undefined,
      opacity: style.alpha,
      rx: style.radius,
    }
  }

  text(text: string, x: number, y: number, style: TextStyle): void {
    const anchor = { left: undefined, center: 'middle', right: 'end' }[style.align ?? 'left']
    const turn = style.turn ? `rotate(${style.turn} ${number(x)} ${number(y)})` : undefined
    this.element(
      'text',
      {
        x,
        y,
        'font-size': style.size,
        fill: style.fill,
        'text-anchor': anchor,
        'font-weight': style.bold ? 600 : undefined,
        transform: turn,
      },
      escapeXml(text),
    )
  }

  rect(x: number, y: number, w: number, h: number, style: ShapeStyle): void {
    this.element('rect', { x, y, width: w, height: h, ...this.style(style) })
  }

  path(d: string, style: ShapeStyle): void {
    this.element('path', { d, ...this.style(style), rx: undefined })
  }

  hatch(x: number, y: number, w: number, h: number): void {
    this.rect(x, y, w, h, { fill: 'url(#absent)' })
  }

  cells(cells: Cells, x: number, y: number, w: number, h: number): void {
    const url = toCanvas(rasterise(cells, Math.max(w * 2, 1024), Math.max(h * 2, 1024))).toDataURL('image/png')
    this.element('image', {
      x,
      y,
      width: w,
      height: h,
      href: url,
      preserveAspectRatio: 'none',
      'image-rendering': 'pixelated',
    })
  }

  group(x: number, y: number, draw: () => void): void {
    this.parts.push(`<g transform="translate(${number(x)} ${number(y)})">`)
    draw()
    this.parts.push('</g>')
  }

  finish(width: number, height: number, title: string): string {
    const lines = `<pattern id="absent" width="6" height="6" patternUnits="userSpaceOnUse"><path d="M-1 7L7 -1M-1 1L1 -1M5 7L7 5" stroke="${this.ink.rule}"/></pattern>`
    return (
      `<svg xmlns="http://www.w3.org/2000/svg" width="${number(width)}" height="${number(height)}" viewBox="0 0 ${number(width)} ${number(height)}" ` +
      `font-family="${escapeXml(kFont)}" role="img"><title>${escapeXml(title)}</title><defs>${lines}</defs>` +
      `<rect width="100%" height="100%" fill="${this.ink.paper}"/>${this.parts.join('')}</svg>`
    )
  }
}
