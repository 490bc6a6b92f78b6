// The script of the HTML views. The element #data holds the view's name and the grid as JSON; each view has a function
// here that makes its picture answer to pointer and keys. The file is embedded in pages that must be XML too, so it
// may hold neither a less-than sign nor an ampersand; the build refuses both.
'use strict'
;(() => {
  const find = (selector) => document.querySelector(selector)
  const findAll = (selector) => [...document.querySelectorAll(selector)]
  const data = JSON.parse(find('#data').textContent)
  const status = find('#status')
  const clamp = (value, most) => Math.max(0, Math.min(most, value))
  const isolated = (text) => '\u2068' + text + '\u2069'

  const formatWeight = (weight) => {
    if (weight === null) return 'masked'
    if (weight >= 0.01 || 0 >= weight) return weight.toFixed(2)
    return weight >= 0.0001 ? weight.toFixed(4) : '\u003c 0.0001'
  }

  // The weight between token `index` of a side and token `other` of the other side. Null marks a masked cell.
  const weightBetween = (side, index, other) =>
    side === 'row' ? data.weights[index][other] : data.weights[other][index]

  // The position of a weight on the colour scale, 0 to 1, as in colour_scale.cpp.
  const shareOf = (weight) => {
    const part = clamp((weight || 0) / data.largest, 1)
    if (data.scale === 'sqrt') return Math.sqrt(part)
    if (data.scale === 'log') return Math.max(0, 1 + Math.log10(Math.max(part, 0.001)) / 3)
    return part
  }

  // A sentence with the four largest weights of a row or a column.
  const describe = (side, index) => {
    const [own, others] = side === 'row' ? [data.rows, data.columns] : [data.columns, data.rows]
    const largest = others
      .map((token, other) => ({ token, weight: weightBetween(side, index, other) }))
      .filter(({ weight }) => weight > 0)
      .sort((a, b) => b.weight - a.weight)
      .slice(0, 4)
      .map(({ token, weight }) => isolated(token) + ' ' + formatWeight(weight))
    const verb = side === 'row' ? ' looks at ' : ' is looked at by '
    return isolated(own[index]) + verb + (largest.join(', ') || 'nothing')
  }

  // Marks the row, the column and the cell under the pointer, or under a cursor that the arrow keys move.
  const heatmap = () => {
    const svg = find('.picture svg')
    const box = find('.cells').dataset
    const bands = { row: find('.band.row'), column: find('.band.column'), cell: find('.band.cell') }
    const lastRow = data.rows.length - 1
    const lastColumn = data.columns.length - 1
    let r = 0
    let c = 0
    const setVisibility = (value) => {
      for (const band of Object.values(bands)) band.setAttribute('visibility', value)
    }
    const show = (row, column) => {
      r = clamp(row, lastRow)
      c = clamp(column, lastColumn)
      setVisibility('visible')
      for (const name of ['row', 'cell']) bands[name].setAttribute('y', +box.y + r * box.height)
      for (const name of ['column', 'cell']) bands[name].setAttribute('x', +box.x + c * box.width)
      const weight = formatWeight(data.weights[r][c])
      status.textContent = isolated(data.rows[r]) + ' \u2192 ' + isolated(data.columns[c]) + ': ' + weight
    }
    // The cursor of the arrow keys stays visible while the picture has the focus.
    const hideUnlessFocused = () => {
      if (document.activeElement !== svg) setVisibility('hidden')
    }
    svg.addEventListener('pointermove', (event) => {
      const point = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse())
      const row = Math.floor((point.y - box.y) / box.height)
      const column = Math.floor((point.x - box.x) / box.width)
      const outside = row !== clamp(row, lastRow) || column !== clamp(column, lastColumn)
      if (outside) hideUnlessFocused()
      else show(row, column)
    })
    svg.addEventListener('pointerleave', hideUnlessFocused)
    svg.setAttribute('tabindex', '0')
    svg.addEventListener('focus', () => show(r, c))
    svg.addEventListener('blur', () => setVisibility('hidden'))
    const directions = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }
    svg.addEventListener('keydown', (event) => {
      const direction = directions[event.key]
      if (!direction) return
      event.preventDefault()
      show(r + direction[0], c + direction[1])
    })
  }

  // Calls `pick` with the word that is pointed at or focused, or else with the pressed word, or null without either.
  const makePickable = (words, pick) => {
    let pressed = null
    const mark = (word) => {
      for (const each of words) each.classList.toggle('picked', each === word)
      pick(word)
    }
    for (const word of words) {
      word.setAttribute('aria-pressed', 'false')
      const press = () => {
        pressed = pressed === word ? null : word
        for (const each of words) each.setAttribute('aria-pressed', String(each === pressed))
        mark(pressed || word)
      }
      word.addEventListener('pointerenter', () => mark(word))
      word.addEventListener('pointerleave', () => mark(pressed))
      word.addEventListener('focus', () => mark(word))
      word.addEventListener('blur', () => mark(pressed))
      word.addEventListener('click', press)
      word.addEventListener('keydown', (event) => {
        if (event.key === 'Escape') {
          pressed = null
          mark(null)
        }
        if (word.tagName === 'BUTTON') return // the browser turns its keys into clicks
        if (event.key === 'Enter' || event.key === ' ') {
          event.preventDefault()
          press()
        }
      })
    }
  }

  // Shows only the links of the picked word.
  const flow = () => {
    const svg = find('.picture svg')
    const links = findAll('.link[data-row]')
    makePickable(findAll('.word'), (word) => {
      svg.classList.toggle('picking', word !== null)
      if (word === null) return
      const { side, index } = word.dataset
      for (const link of links) link.classList.toggle('picked', link.dataset[side] === index)
      status.textContent = describe(side, +index)
    })
  }

  // Shades the words of the other sentence by their weights with the picked word.
  const highlight = () => {
    const words = findAll('.pair button')
    find('.pair').hidden = false
    makePickable(words, (word) => {
      for (const other of words) other.style.removeProperty('--share')
      if (word === null) return
      const { side, index } = word.dataset
      for (const other of words) {
        const sameSide = other.dataset.side === side
        const share = sameSide ? 0 : shareOf(weightBetween(side, +index, +other.dataset.index))
        if (!sameSide) other.style.setProperty('--share', (100 * share).toFixed(1) + '%')
        other.classList.toggle('strong', share > 0.4)
      }
      status.textContent = describe(side, +index)
    })
  }

  // Makes the player's buttons, its slider and the arrow keys choose one of `count` steps. `draw` shows the current step,
  // or everything if `single` is false; `labels` are those of the button that switches between the two.
  const makePlayer = (count, labels, draw) => {
    const slider = find('#step')
    let current = 0
    let timer = 0
    let single = true
    const redraw = () => {
      const number = current + 1
      slider.value = number
      slider.setAttribute('aria-valuetext', 'step ' + number + ' of ' + count + ': ' + data.rows[current])
      find('#where').textContent = number + ' / ' + count
      status.textContent = data.steps[current]
      find('#play').textContent = timer ? 'Pause' : 'Play'
      find('#whole').textContent = single ? labels.all : labels.one
      draw(current, single)
    }
    const stop = () => {
      clearInterval(timer)
      timer = 0
    }
    const show = (step) => {
      current = clamp(step, count - 1)
      single = true
      redraw()
    }
    const stopAndShow = (step) => {
      stop()
      show(step)
    }
    const isLast = () => current + 1 === count
    find('#play').addEventListener('click', () => {
      if (timer) {
        stop()
        redraw()
        return
      }
      if (isLast()) current = 0
      timer = setInterval(() => (isLast() ? (stop(), redraw()) : show(current + 1)), 900)
      show(current)
    })
    slider.addEventListener('input', () => stopAndShow(+slider.value - 1))
    find('#back').addEventListener('click', () => stopAndShow(current - 1))
    find('#next').addEventListener('click', () => stopAndShow(current + 1))
    find('#whole').addEventListener('click', () => {
      stop()
      single = !single
      redraw()
    })
    document.addEventListener('keydown', (event) => {
      const direction = { ArrowLeft: -1, ArrowRight: 1 }[event.key]
      // The slider and the scrolling picture have uses of their own for the arrow keys.
      if (!direction || event.target === slider || event.target.classList.contains('picture')) return
      event.preventDefault()
      stopAndShow(current + direction)
    })
    find('.player').hidden = false
    redraw()
    return { stopAndShow, redraw }
  }

  // Plays the steps of decoding one after the other, or shows all of them.
  const steps = () => {
    const svg = find('.picture svg')
    const frames = findAll('.frame')
    const [viewBox, width, height] = ['viewBox', 'width', 'height'].map((name) => svg.getAttribute(name))
    const { redraw } = makePlayer(frames.length, { all: 'All steps', one: 'One step' }, (current, single) => {
      frames.forEach((frame, i) => frame.setAttribute('visibility', !single || i === current ? 'visible' : 'hidden'))
      const box = frames[current].dataset
      const zoom = single ? Math.max(0.75, Math.min(1.5, find('.picture').clientWidth / width)) : 1
      svg.setAttribute('viewBox', single ? [0, +box.y + 1, width, box.height].join(' ') : viewBox)
      svg.setAttribute('width', width * zoom)
      svg.setAttribute('height', single ? box.height * zoom : height)
    })
    addEventListener('resize', redraw)
  }

  // Lights the picture up for the word that is pointed at, pressed or played.
  const pictures = () => {
    const lights = findAll('.light')
    const words = findAll('[data-frame]')
    find('.stage').hidden = false
    const labels = { all: 'Picture alone', one: 'With light' }
    const { stopAndShow } = makePlayer(lights.length, labels, (current, single) => {
      lights.forEach((light, i) => light.classList.toggle('on', single ? i === current : false))
      for (const word of words) {
        const shown = single ? +word.dataset.frame === current : false
        word.classList.toggle('picked', shown)
        word.setAttribute('aria-pressed', String(shown))
      }
    })
    for (const word of words) {
      const show = () => stopAndShow(+word.dataset.frame)
      for (const event of ['pointerenter', 'focus', 'click']) word.addEventListener(event, show)
    }
  }

  const heads = () => {} // the small heat maps only show

  const views = { heatmap, highlight, flow, steps, heads, pictures }
  views[data.view]()
})()
