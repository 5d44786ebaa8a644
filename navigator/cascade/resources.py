"""Where the files that travel with the package are; found by `config`, since the model servers' room needs them too."""

from navigator.config.resources import resource_dir

__all__ = ["resource_dir"]
