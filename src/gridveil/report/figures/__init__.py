"""Drawing for pages that load nothing: maps as PNG, charts as inline SVG."""
