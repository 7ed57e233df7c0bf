"""Compiling functions for kernels to call: only the kernel they end up in becomes machine code.

Numba optimizes and translates each function for itself, and again within each that calls it. For
kernels, whose parts call parts, that was half of all compiling.
"""

import ctypes
from typing import no_type_check

from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import FunctionPass, register_pass
from numba.core.typed_passes import NopythonRewrites


class _Linked(JITCodeLibrary):
    """The code of a function as it was written, and of those that it calls, for others to link."""

    @property
    @no_type_check
    def codegen(self):
        return self

    @no_type_check
    def set_env(self, name, objects):
        """Without machine code there is no place for the objects of Python that it would use."""

    @no_type_check
    def get_pointer_to_function(self, name):
        """What Numba's dispatcher calls when Python does, with an object that cannot be called.

        Raises TypeError then.
        """
        self._ensure_finalized()
        return ctypes.cast(ctypes.pythonapi.PyObject_Call, ctypes.c_void_p).value

    @no_type_check
    def _optimize_functions(self, ll_module):
        ll_module.data_layout = self._codegen._data_layout

    @no_type_check
    def finalize(self):
        self._raise_if_finalized()
        for library in dict.fromkeys(self._linking_libraries):
            self._reload_init.update(library._reload_init)
            self._final_module.link_in(library._get_module_for_linking(), preserve=True)
        self._final_module.verify()
        self._finalized = True


@register_pass(mutates_CFG=False, analysis_only=True)  # type: ignore[no-untyped-call]
class _ToBeLinked(FunctionPass):
    """Has the code of a function go where it is not translated."""

    _name = "to_be_linked"

    @no_type_check
    def __init__(self):
        FunctionPass.__init__(self)

    @no_type_check
    def run_pass(self, state):
        state.library = _Linked(state.targetctx.codegen(), state.func_id.func_qualname)
        return True


class LinkingCompiler(CompilerBase):
    """Numba's compiler, for functions that compiled code alone calls.

    Source: Numba's manual, "Customizing the compiler".
    """

    @no_type_check
    def define_pipelines(self):
        """The one for code that needs no Python."""
        manager = DefaultPassBuilder.define_nopython_pipeline(self.state)
        manager.add_pass_after(_ToBeLinked, NopythonRewrites)
        manager.finalize()
        return [manager]
