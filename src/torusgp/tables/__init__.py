"""Tables with columns of numbers and times: read, turned into inputs, and modelled."""
